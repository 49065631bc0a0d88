import { onTestFinished } from "vitest";
import {
  message,
  type ReferenceServer,
  type ReferenceServerOptions,
  readItems,
  reasoning,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import type { EngineConfig } from "../../../src/engine/options/create-engine.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import type { OpenaiResponsesOptions } from "../../../src/providers/responses/responses-options.ts";
import { createWorkshop, type Workshop } from "../workshop.ts";

/** A conversation with a server that thinks before each answer: `say` appends a message and runs. */
export type ThinkingTalk = Workshop & {
  readonly server: ReferenceServer;
  readonly provider: (options?: Partial<OpenaiResponsesOptions>) => ReturnType<typeof openaiResponses>;
  readonly say: (
    text: string,
    config?: Partial<EngineConfig>,
    options?: Partial<OpenaiResponsesOptions>,
  ) => Promise<void>;
};

export async function thinkingTalk(options: ReferenceServerOptions = {}): Promise<ThinkingTalk> {
  const server = await startReferenceServer({
    answer: ({ request }) => ({ output: [reasoning({ summary: `thought ${request}` }), message(`answer ${request}`)] }),
    ...options,
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const workshop = createWorkshop();
  const provider = (asked: Partial<OpenaiResponsesOptions> = {}) =>
    openaiResponses({ model: "m", baseURL: server.baseUrl, apiKey: "key", transport: "json", ...asked });
  return {
    ...{ ...workshop, server, provider },
    async say(text, config = {}, asked = {}) {
      await workshop.conversation.append(text);
      await workshop.conversation.run(workshop.engine({ provider: provider(asked), ...config }));
    },
  };
}

/** What the model read as its own thoughts for the last request. */
export function thoughtsRead(server: ReferenceServer): number {
  const reading = server.reading(server.requests.length - 1);
  return readItems(reading?.items ?? []).filter((line) => line.includes("| reasoning |")).length;
}
