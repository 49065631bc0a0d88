import { appendFileSync, existsSync, readFileSync } from "node:fs";
import * as z from "zod";
import {
  functionCall,
  message,
  reasoning,
  type ScriptedAnswer,
} from "../../../packages/reference-server/src/server.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import type { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { Block } from "../../../src/domain/block.ts";
import { namedBlockId } from "../../../src/domain/ids.ts";
import { user } from "../../../src/domain/make-block.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import type { Engine } from "../../../src/engine/options/engine.ts";
import { broughtBy, defineMiddleware, type Layer } from "../../../src/engine/ports/middleware.ts";
import type { Provider } from "../../../src/engine/ports/provider.ts";
import { type Tool, tool } from "../../../src/engine/ports/tool.ts";
import type { Breakpoint, Interceptor } from "../../../src/engine/session/breakpoint.ts";
import { cache } from "../../../src/middleware/cache.ts";
import { conditional } from "../../../src/middleware/conditional.ts";
import { contentFilter } from "../../../src/middleware/content-filter.ts";
import { recover } from "../../../src/middleware/recover.ts";
import { redact } from "../../../src/middleware/redact.ts";
import type { Dialect, Question } from "../dialect.ts";
import { type DialectName, dialectNames, dialects, withoutThoughts } from "../dialects.ts";

/*
 * The world of the crash harness: what outlives every process is the store, the model's server and the ledger, and every
 * process of it composes the same stack from this file.
 */

/** Where everything is that outlives a process. */
export const placeSchema = z.object({
  url: z.string(),
  dialect: z.enum(dialectNames),
  transport: z.enum(["json", "sse", "websocket"]).default("json"),
  mode: z.enum(["chained", "stateless", "conversation", "auto"]).default("chained"),
  isStored: z.boolean().default(true),
  /** Whether a run that begins finds its connection warmed up. */
  isWarm: z.boolean().default(false),
  modelUrl: z.string(),
  ledger: z.string(),
});
export type Place = z.infer<typeof placeSchema>;

/** 1 March 2026, 12:00 UTC. */
export const noon = 1_772_366_400_000;

export const openWorld = ({ url, dialect }: Place): Promise<TurnlogStore> =>
  openStore(url, { clock: () => noon, viewsPath: ":memory:", codecs: dialects[dialect].codecs });

export const conversationId = (n: number): string => `cnv_crash${String(n).padStart(6, "0")}`;

export const hello = "Please write to ada@example.com about the matter.";

/** A message that comes while the run is open, or while it is cut off. */
export const comeLater = (conversation: Conversation): Promise<unknown> =>
  conversation.append("Are you there?", { key: "later" });

const hasOwnTools = (name: DialectName): boolean => {
  const dialect: Dialect = dialects[name];
  return dialect.hasOwnTools === true;
};

/** The model of a wire. An agent is a process for each request, and so does less; a session has no thoughts but its own. */
export const thinking =
  (name: DialectName) =>
  (question: () => Question): ScriptedAnswer =>
    hasOwnTools(name) ? withoutThoughts(think(question, 6)) : think(question, 9);

/**
 * The model: its answer follows from what it reads, as the server itself puts that together. Steps with one or two
 * calls, a failure in between, and a last word.
 */
function think(question: () => Question, maxResults: number): ScriptedAnswer {
  const { lines, results, bodyText } = question();
  const name = sha256Hex(lines.join("\n"));
  if (bodyText.includes(besideText)) return { output: [message(`Beside: ${name.slice(0, 8)}.`)] };
  if (results === 4 && !bodyText.includes("Once more")) {
    return {
      output: [],
      status: "failed",
      error: { code: "server_error", message: `no answer to ${name.slice(0, 6)}` },
    };
  }
  if (results >= maxResults) return { output: [message(`Done: ${mailOfAda} got letter ${name.slice(0, 8)}.`)] };
  const isParallel = results % 3 === 1;
  const thought = { ...reasoning({ summary: `thought ${name.slice(0, 6)}` }).item, id: `rs_${name.slice(0, 24)}` };
  return {
    output: [
      { item: thought, isEncrypted: true },
      ...(isParallel ? [0, 1] : [0]).map((n) =>
        functionCall(toolNames[(results + n) % toolNames.length] ?? "", `{"of":"${name.slice(0, 6)}${n}"}`, {
          callId: `call_${name.slice(0, 12)}${n}`,
        }),
      ),
    ],
  };
}

const ada = "ada@example.com";
const introduction = "introduction";
/** What the model sees of the address: it follows from the id of the block that has it first, which is the same in every conversation. */
const mailOfAda = `[email-${sha256Hex(
  `turnlog/redact/v1\n${namedBlockId(`turnlog/insertion/v1\n${introduction}`)}\nemail\n${ada}`,
).slice(0, 6)}]`;

const toolNames = ["look-up", "charge", "remind"];

/** What tools and effects did in the world, by idempotency key: answers, one for each time. */
export function readLedger({ ledger }: Pick<Place, "ledger">): ReadonlyMap<string, readonly Entry[]> {
  const entries = new Map<string, Entry[]>();
  for (const line of existsSync(ledger) ? readFileSync(ledger, "utf8").trim().split("\n") : []) {
    if (line === "") continue;
    const entry = entrySchema.parse(JSON.parse(line));
    entries.set(entry.key, [...(entries.get(entry.key) ?? []), entry]);
  }
  return entries;
}

const entrySchema = z.object({ key: z.string(), name: z.string(), answer: z.string() });
type Entry = z.infer<typeof entrySchema>;

/** What may happen once and never again. */
export const onceOnly: ReadonlySet<string> = new Set(["charge", "post"]);

function enter({ ledger }: Place, entry: Entry): string {
  appendFileSync(ledger, `${JSON.stringify(entry)}\n`);
  return entry.answer;
}

const ledgerTools = (place: Place): readonly Tool[] =>
  toolNames.map((name) =>
    tool({
      name,
      description: `Does ${name}.`,
      inputSchema: z.object({ of: z.string() }),
      idempotent: !onceOnly.has(name),
      async execute({ of }, { idempotencyKey: key }) {
        await new Promise(setImmediate);
        const answer = enter(place, { key, name, answer: `${name} ${of} for ada@example.com, at some length` });
        if (name === "remind" && Number.parseInt(of.slice(0, 1), 16) % 2 === 0) throw new Error(`cannot remind ${of}`);
        return answer;
      },
    }),
  );

/** How a layer begins what it asks beside the conversation. */
const besideText = "How many are there of";

/** An agent ends its answer with what its own tools gave: it is told to go on until it has nothing left to do. */
const goOn = defineMiddleware({ name: "go-on", version: "1.0.0" }, (next) => async (turn) => {
  let result = await next(turn);
  for (let n = 0; n < 9 && result.at(-1)?.text.startsWith("Done: ") !== true; n += 1)
    result = await next(result.append(user("Go on.")));
  return result;
});

const count = defineMiddleware({ name: "count", version: "1.0.0" }, (next) => async (turn, ctx) => {
  const asked = [`${besideText} ${turn.length}?`, `${besideText} what?`].map((input) => ctx.infer({ input }));
  const texts = (await Promise.all(asked)).map(({ text }) => text);
  return next(turn.append(user(`I was told: ${texts.join(" ")}`)));
});

const cached = cache({ store: { get: () => undefined, set: () => undefined }, key: "secret", ttl: 1_000 });

/** Retries, reaches outside, asks the model beside the conversation, hides and restores, filters, edits and takes back. */
const layers = (place: Place): readonly Layer[] => [
  recover({ answer: "It did not work." }),
  defineMiddleware(
    { name: "introduce", version: "1.0.0" },
    (next) => (turn) => next(turn.insertOnce(introduction, user(`Ada is ${ada}.`), 0)),
  ),
  ...(hasOwnTools(place.dialect) ? [goOn] : []),
  defineMiddleware({ name: "retry", version: "1.0.0" }, (next) => async (turn) => {
    try {
      return await next(turn);
    } catch {
      return next(turn.append(user("Once more, please.")));
    }
  }),
  defineMiddleware({ name: "audit", version: "1.0.0" }, (next) => async (turn, ctx) => {
    const name = turn.length % 2 === 0 ? "fetch" : "post";
    await ctx.effect(name, ({ idempotencyKey: key }) => enter(place, { key, name, answer: `${name} ${turn.length}` }), {
      idempotent: !onceOnly.has(name),
    });
    return next(turn);
  }),
  conditional({ name: "sometimes", version: "1.0.0", when: (turn) => turn.length % 4 === 1, layer: count }),
  redact({ detect: ["email"] }),
  contentFilter({
    check: (text) => (text.includes("cannot remind") ? { reason: "a failure", values: ["cannot"] } : null),
    action: "redact",
  }),
  // It never has an answer, and keeps few: each look is an effect.
  conditional({ name: "seldom", version: "1.0.0", when: (turn) => turn.length % 7 === 3, layer: cached }),
  defineMiddleware({ name: "shorten", version: "1.0.0" }, (next) => async (given) => {
    const asked = given.map((block) => rewritten(block, ", at some length", ""));
    return given.append(...broughtBy(asked, await next(asked)));
  }),
];

function rewritten(block: Block, from: string, to: string): Block {
  const isRewritten = block.kind !== "reasoning" && block.kind !== "tool_call" && block.text.includes(from);
  return isRewritten ? block.withText(block.text.replaceAll(from, to)) : block;
}

/**
 * What is not stored goes with the connection of the process that said it. A new conversation object is given the whole Turn, in
 * which items cannot be named: the model gives the reasoning of all runs the same ids.
 */
const askedBy = ({ transport, mode, isStored }: Place) => ({
  ...{ model: "thinking", transport },
  ...(isStored ? {} : ({ store: false } as const)),
  ...(mode === "conversation" ? { capabilities: { itemIds: false } } : {}),
});

/** The engine as every process puts it together; the run of a conversation has its id from it. */
export function engineOf(
  place: Place,
  id: string,
  around: (provider: Provider) => Provider = (provider) => provider,
): Engine {
  let ids = 0;
  return createEngine({
    provider: around(dialects[place.dialect].provider(place.modelUrl, askedBy(place))),
    // What does not chain has no modes to choose from.
    ...(place.mode === "chained" ? {} : { mode: place.mode }),
    tools: hasOwnTools(place.dialect) ? [] : ledgerTools(place),
    middleware: layers(place),
    clock: () => noon,
    newId(prefix) {
      ids += 1;
      return `${prefix}_${sha256Hex(prefix === "run" ? id : `${id} ${process.pid} ${ids}`).slice(0, 20)}`;
    },
  });
}

type Watching = { readonly onStop?: () => void; readonly onHeld?: () => Promise<void> };

/** Lets so many stops pass, and holds everything from then on; counts what it let pass. */
export function holdAt(stop: number, { onStop, onHeld }: Watching = {}) {
  const passed = { stops: 0, appends: 0 };
  let isHeld = false;
  const pass = async (kind: Breakpoint["kind"], phase: Breakpoint["phase"]): Promise<null> => {
    if (!isHeld && passed.stops < stop) {
      passed.stops += 1;
      if (kind === "append" && phase === "after") passed.appends += 1;
      onStop?.();
      return null;
    }
    if (!isHeld) {
      isHeld = true;
      await onHeld?.();
    }
    return new Promise(() => undefined);
  };
  const gate: Interceptor = ({ kind, phase }) => pass(kind, phase);
  return { gate, pass, passed };
}

/** A gate that lets everything pass, and counts. */
export const counting = () => holdAt(Number.POSITIVE_INFINITY);
