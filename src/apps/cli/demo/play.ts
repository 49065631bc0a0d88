import type { Conversation } from "../../../conversation/conversation.ts";
import { system } from "../../../domain/make-block.ts";
import type { Provider } from "../../../engine/ports/provider.ts";
import { createDemoEngine, demoQuestions, demoSystemPrompt, type EngineSources } from "./agent.ts";

/** A part of the demo, as it happens. */
export type DemoPart =
  | { readonly type: "question"; readonly text: string }
  /** Its record is in the log by then. */
  | { readonly type: "answer"; readonly text: string };

/** Plays the demo's conversation to its end: the same one every time, if clock and ids are the same. */
export async function* playDemo(
  conversation: Conversation,
  provider: Provider,
  { signal, ...sources }: EngineSources & { readonly signal?: AbortSignal } = {},
): AsyncGenerator<DemoPart, void> {
  const engine = createDemoEngine(provider, sources);
  await conversation.relabel({ title: "A journey to Rome (turnlog demo)" });
  await conversation.append(system(demoSystemPrompt), { actor: { kind: "app", name: "demo" } });
  for (const question of demoQuestions) {
    await conversation.append(question);
    yield { type: "question", text: question };
    const { text } = await conversation.run(engine, signal === undefined ? {} : { signal });
    yield { type: "answer", text };
  }
}
