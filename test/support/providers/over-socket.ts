import { expect, onTestFinished } from "vitest";
import {
  type ReferenceServer,
  type ReferenceServerOptions,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import type { EngineConfig } from "../../../src/engine/options/create-engine.ts";
import type { Engine } from "../../../src/engine/options/engine.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import type { OpenaiResponsesOptions } from "../../../src/providers/responses/responses-options.ts";
import { replayed } from "../replayed.ts";
import { dataOf, eventsOf, type Workshop } from "../workshop.ts";

/** A reference server that ends with the test. */
export async function startServer(options: ReferenceServerOptions = {}): Promise<ReferenceServer> {
  const server = await startReferenceServer(options);
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

/** An engine whose requests go over WebSocket to this server and are not stored there, unless the options say otherwise. */
export function engineOn(
  { baseUrl }: ReferenceServer,
  workshop: Workshop,
  { config = {}, ...options }: Partial<OpenaiResponsesOptions> & { readonly config?: Partial<EngineConfig> } = {},
): Engine {
  const provider = openaiResponses({
    ...{ model: "m", baseURL: baseUrl, apiKey: "key", transport: "websocket", store: false },
    ...options,
  });
  const engine = workshop.engine({ provider, ...config });
  onTestFinished(() => engine[Symbol.asyncDispose]());
  return engine;
}

/** What the model says to this. */
export async function say(conversation: Conversation, engine: Engine, text: string): Promise<string> {
  await conversation.append(text);
  return (await conversation.run(engine)).text;
}

const decisionsOf = async (conversation: Conversation) =>
  dataOf(await eventsOf(conversation), "InferenceRequested").map(({ decision }) => decision);

/** What each request was: how it was sent, from what, and why. */
export const shapesOf = async (conversation: Conversation): Promise<readonly string[]> =>
  (await decisionsOf(conversation)).map(({ transport, strategy, reason }) =>
    [transport, strategy, reason].filter((part) => part !== null).join(" "),
  );

/** The bodies that the log gives again, in the order of the requests. */
export async function rebuiltBodies(conversation: Conversation): Promise<readonly string[]> {
  const bodies: string[] = [];
  for (const { event, revision } of await eventsOf(conversation)) {
    if (event.type === "InferenceRequested") bodies.push((await conversation.request(revision)).bodyText);
  }
  return bodies;
}

/** Every request is planned and made again as it was. */
export async function expectSound({ store, conversation }: Workshop): Promise<void> {
  expect(await replayed(store, conversation)).toMatchObject({ difference: null });
}
