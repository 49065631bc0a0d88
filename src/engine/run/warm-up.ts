import { anything, optionsOf } from "../../base/options.ts";
import type { ConversationWriter } from "../../log/writer/conversation-writer.ts";
import type { EngineOptions } from "../options/engine.ts";
import type { Provider } from "../ports/provider.ts";
import { ConversationMovedError } from "../session/errors.ts";
import { inTurn } from "./begin.ts";
import type { Connecting, WarmUp } from "./warm-up-now.ts";

export type WarmUpOptions = { readonly signal?: AbortSignal };
const warmUpOptions = optionsOf<WarmUpOptions>({ signal: anything });

/** Opens the connection of a conversation's next request, and has the endpoint hold its last answer there. */
export async function warmUpConversation(
  stream: ConversationWriter,
  engine: EngineOptions,
  options: WarmUpOptions,
): Promise<WarmUp> {
  warmUpOptions.check("warmUp", options);
  const { signal = new AbortController().signal } = options;
  const { provider } = engine;
  if (!keepsConnections(provider))
    throw new TypeError(
      `warmUp: the provider ${provider.name} does not keep connections: give one that does, such as openaiResponses({ transport: "websocket" })`,
    );
  const work = async (): Promise<WarmUp> => {
    const { warmUpNow } = await import("./warm-up-now.ts");
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await warmUpNow(stream, { engine: { ...engine, provider }, signal });
      } catch (error) {
        if (!(error instanceof ConversationMovedError) || attempt === maxAttempts) throw error;
      }
    }
  };
  return engine.life.during(() => inTurn(stream, { runId: "", signal }, work));
}

/** How often to plan again because another process ran the conversation meanwhile. */
const maxAttempts = 5;

const keepsConnections = (provider: Provider): provider is Connecting => provider.connect !== undefined;
