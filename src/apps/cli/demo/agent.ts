import * as z from "zod";
import type { Block } from "../../../domain/block.ts";
import { system } from "../../../domain/make-block.ts";
import { createEngine, type EngineConfig } from "../../../engine/options/create-engine.ts";
import type { Engine } from "../../../engine/options/engine.ts";
import { defineMiddleware } from "../../../engine/ports/middleware.ts";
import type { Provider } from "../../../engine/ports/provider.ts";
import { tool } from "../../../engine/ports/tool.ts";
import { lens } from "../../../middleware/lens.ts";

/** The user's messages in the demo, in order. */
export const demoQuestions: readonly string[] = [
  "I am ada@example.org. Find me a train from Paris to Rome on Friday, and the weather there.",
  "Is there a hotel near the station?",
  "Good. Book the train.",
  "Yes.",
  "Merci ! Et en français ?",
];

export const demoSystemPrompt = "You plan journeys. Be brief.";

/** For tests: a repeatable clock and repeatable ids. */
export type EngineSources = Pick<EngineConfig, "clock" | "newId" | "mode">;

/** The agent of the demo: four tools, and four layers that edit Turns as real layers do. */
export function createDemoEngine(provider: Provider, sources: EngineSources = {}): Engine {
  const middleware = [redactEmails, shortenResults, askFirst, speakFrench];
  return createEngine({ provider, tools, middleware, ...sources });
}

/** Hides addresses from the model, always in the same way: the server knows the hidden form, so requests stay chained. */
const redactEmails = lens({
  name: "redact-emails",
  version: "1.0.0",
  hide: (block) => replaceText(block, /\w+@example\.org/g, "[email]"),
});

/** Shortens long tool results after they were answered, although the server holds the long ones. */
const shortenResults = defineMiddleware({ name: "shorten-results", version: "1.2.0" }, (next) => async (turn) => {
  const answered = turn.blocks.findLastIndex(({ kind }) => kind === "assistant");
  const long = turn.blocks.slice(0, Math.max(answered, 0)).filter(isLongResult);
  return next(turn.replaceEach(long, (block) => block.withText(`${block.text.slice(0, 120)} [shortened]`)));
});

const isLongResult = ({ kind, text }: Block): boolean => kind === "tool_result" && text.length > 1_000;

/** Adds a rule to one request only, and removes it afterwards, although the server remembers it. */
const askFirst = defineMiddleware({ name: "ask-first", version: "1.0.0" }, (next) => async (turn) => {
  const isBooking = turn.last?.kind === "user" && /book/i.test(turn.last.text);
  if (!isBooking) return next(turn);
  const ruled = turn.insertOnce("ask-first", system("Name the price and ask before you pay."));
  const rule = ruled.last;
  const answered = await next(ruled);
  return rule === undefined ? answered : answered.remove(rule);
});

/** Replaces the system prompt when the language changes: no context of a server begins like that. */
const speakFrench = defineMiddleware({ name: "speak-french", version: "2.0.1" }, (next) => async (turn) => {
  const prompt = turn.at(0);
  const isFrench = turn.last?.kind === "user" && /merci/i.test(turn.last.text);
  return next(isFrench && prompt !== undefined ? turn.replace(prompt, prompt.withText("Réponds en français.")) : turn);
});

function replaceText(block: Block, pattern: RegExp, by: string): Block {
  const text = block.text.replace(pattern, by);
  return text === block.text ? block : block.withText(text);
}

const tools = [
  tool({
    name: "trains",
    description: "Trains between two cities on a day.",
    inputSchema: z.object({ from: z.string(), to: z.string(), day: z.string() }),
    idempotent: true,
    execute: ({ from, to }) => timetable(from, to),
  }),
  tool({
    name: "weather",
    description: "The weather forecast for a city.",
    inputSchema: z.object({ city: z.string() }),
    idempotent: true,
    execute: ({ city }) => `${city}: sunny, 24 degrees`,
  }),
  tool({
    name: "hotels",
    description: "Hotels of a city near a place.",
    inputSchema: z.object({ city: z.string(), near: z.string() }),
    idempotent: true,
    execute: ({ city, near }) => ({ city, near, hotels: [{ name: "Aurora", metres: 300, euros: 94 }] }),
  }),
  tool({
    name: "book",
    description: "Books a train.",
    inputSchema: z.object({ train: z.string(), day: z.string() }),
    execute: ({ train, day }) => ({ train, day, code: "K7Q2" }),
  }),
];

/** As long as the results of such services. */
function timetable(from: string, to: string): string {
  const lines = Array.from({ length: 36 }, (_, index) => {
    const [hour, minute] = [5 + Math.floor(index / 2), (index % 2) * 30 - ((index * 7) % 4) + 3];
    const departs = `${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}`;
    return `${departs} ${from} > Milano Centrale > ${to}, seats ${(index * 13) % 50}, from ${99 + ((index * 29) % 90)} euros`;
  });
  return `Friday\n06:26 ${from} > Milano > ${to} 17:49, seats 12, 119 euros\n${lines.join("\n")}`;
}
