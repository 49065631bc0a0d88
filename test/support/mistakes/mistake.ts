import * as z from "zod";
import { scripted } from "../../../src/entries/testing.ts";
import { createEngine, defineMiddleware, type Engine, openStore, tool } from "../../../src/index.ts";

/** What somebody calls by mistake, as he wrote it; what he did; and the sentence that he is told. */
export type Mistake = readonly [called: string, mistake: () => unknown, says: string];

/** What types refuse, and JavaScript and configuration files do not. */
export const odd = (value: unknown) => value as never;

/** An engine that could answer, but for what is given besides. */
export const engine = (config: object = {}): Engine => createEngine({ provider: scripted(["Hello."]), ...config });

/** A tool that could be called, but for what is given besides. */
export const weather = (definition: object = {}) =>
  tool(
    odd({
      ...{ name: "weather", description: "Today's weather", inputSchema: z.object({ city: z.string() }) },
      ...{ execute: () => "sunny", ...definition },
    }),
  );

/** A layer that hands on what it gets, but for what is given besides. */
export const layer = (description: object = {}) =>
  defineMiddleware(odd({ name: "mine", version: "1.0.0", ...description }), (next) => (turn) => next(turn));

/** A conversation in which a run could begin. */
export async function conversation() {
  const store = await openStore("memory:");
  const made = store.conversation("cnv_mistakes");
  await made.append("hello");
  return made;
}
