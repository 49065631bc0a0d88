import type { TurnlogStore } from "../../src/conversation/turnlog-store.ts";
import { verifyStore } from "../../src/operations/audit/verify.ts";

/** The first thing that is wrong with each stream of a store: its chain, its events, its folds, its requests made again. */
export async function problemsIn({ events, codecs }: Pick<TurnlogStore, "events" | "codecs">) {
  const problems: { readonly stream: string; readonly revision: number; readonly message: string }[] = [];
  for await (const { stream, problem } of verifyStore(events, { codecs }))
    if (problem !== null) problems.push({ stream, ...problem });
  return problems;
}
