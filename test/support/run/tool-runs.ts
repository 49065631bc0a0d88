import * as z from "zod";
import type { Turn } from "../../../src/domain/turn.ts";
import type { EngineConfig } from "../../../src/engine/options/create-engine.ts";
import { type Tool, tool } from "../../../src/engine/ports/tool.ts";
import type { ScriptedAnswer } from "../../../src/providers/scripted/scripted.ts";
import { createWorkshop, eventsOf } from "../workshop.ts";

/** An answer that makes these calls: name, arguments and call id. */
export const calling = (
  ...calls: readonly (readonly [name: string, given: string, callId?: string])[]
): ScriptedAnswer => ({
  calls: calls.map(([name, given, callId], n) => ({ name, arguments: given, callId: callId ?? `c${n}` })),
});

/** A tool for most of what is tried. */
export const add: Tool = tool({
  name: "add",
  description: "Adds two numbers.",
  inputSchema: z.object({ left: z.number(), right: z.number().default(1) }),
  execute: ({ left, right }) => left + right,
});

/** One conversation of one message, and what came of it. */
export async function run(answers: readonly ScriptedAnswer[], config: Partial<EngineConfig> = {}) {
  const { conversation, ...workshop } = createWorkshop();
  const { engine, provider } = workshop.scripted(answers, { tools: [add], ...config });
  await conversation.append("hello");
  const outcome = await conversation.run(engine).catch((error: unknown) => error);
  return { conversation, provider, outcome, turn: await conversation.turn(), events: await eventsOf(conversation) };
}

/** What the tools answered, in the order of the Turn. */
export const resultsOf = (turn: Turn): readonly string[] =>
  turn.blocks.filter(({ kind }) => kind === "tool_result").map(({ text }) => text);

/** An object that holds itself. */
function circle(): Record<string, unknown> {
  const round: Record<string, unknown> = { title: "round" };
  round["self"] = round;
  return round;
}

/** What JavaScript may give and no log can hold. */
export const noJson: readonly (readonly [string, () => unknown])[] = [
  ["NaN", () => Number.NaN],
  ["a number too large for JSON", () => [Number.POSITIVE_INFINITY]],
  ["an integer that JavaScript rounds", () => ({ id: 2 ** 53 })],
  ["a BigInt", () => ({ rows: 3n })],
  ["a circle", circle],
  ["a function", () => () => "later"],
  ["a symbol", () => Symbol("found")],
  ["a Map", () => new Map([["a", 1]])],
  ["a Response whose text nobody read", () => new Response("Paris")],
  ["an Error within an object", () => ({ error: new Error("no luck") })],
  [
    "an object whose toJSON throws",
    () => ({
      toJSON() {
        throw new Error("not this one");
      },
    }),
  ],
];

/** Throws something that cannot even be turned into a text. */
export function throwNothing(): never {
  const nothing: unknown = Object.create(null);
  throw nothing;
}
