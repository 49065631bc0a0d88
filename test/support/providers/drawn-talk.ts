import type {
  CacheOptions,
  CacheVerdict,
  Fault,
  ReferenceServer,
  ReferenceServerOptions,
} from "../../../packages/reference-server/src/server.ts";
import type { CacheRules } from "../../../src/analysis/costs/prompt-cache/cache-rules.ts";
import type { CachedRequest } from "../../../src/analysis/costs/prompt-cache/cache-verdict.ts";
import { cachedRequest } from "../../../src/analysis/costs/prompt-cache/cached-request.ts";
import { type CacheDiagnosis, diagnosisIn } from "../../../src/analysis/costs/prompt-cache/told-diagnosis.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import { objectOf, parseJson } from "../../../src/base/json.ts";
import type { Block } from "../../../src/domain/block.ts";
import { assistant, toolCall, toolResult, user } from "../../../src/domain/make-block.ts";
import type { Codec } from "../../../src/engine/ports/codec.ts";
import { type Draw, drawFrom } from "../../../src/testing/rehearsal/draw.ts";
import { type CachedFront, sendCached } from "../reference-server/cached-fronts.ts";

/** A wire whose prompt cache is rehearsed: a front, its codec, and what its settings can say. */
export interface CachedWire {
  readonly front: CachedFront;
  readonly codec: Codec;
  readonly models: readonly [string, string];
  readonly settings: JsonObject;
  /** Settings of which one is sometimes added: those that are part of the prefix, and one that is not. */
  readonly others: readonly [JsonObject, ...JsonObject[]];
  /** A member that separates caches. */
  readonly separates: string | null;
  readonly hasCalls: boolean;
  /** Its requests have breakpoints: the member of a request's details that has their places, and the setting with their lifetime. */
  readonly marks?: { readonly details: string; readonly setting: string };
  /** Options of its server. */
  readonly server?: Partial<ReferenceServerOptions>;
}

/** Whether a wire caches at its breakpoints only: they have Anthropic's lifetimes. */
const isMarkedOnly = ({ front, server }: CachedWire): boolean =>
  front.name === "messages" || server?.chat === "openrouter";

/** A request that was sent: what turnlog knows of it, and what the server decided. */
interface Sent {
  readonly request: CachedRequest;
  readonly server: CacheVerdict;
  /** What its answer says of its prompt, compared with that of the request before; null if it says nothing. */
  readonly said: CacheDiagnosis | null;
  /** What was drawn for it, for the message of a failed comparison. */
  readonly drawn: string;
}

const minute = 60_000;

/** One conversation with drawn edits, idle times, settings and faults, as the server judges it. */
export async function drawnTalk(
  wire: CachedWire,
  {
    seed,
    requests,
    server,
    clock,
  }: {
    readonly seed: number;
    readonly requests: number;
    readonly server: ReferenceServer;
    readonly clock: { ms: number };
  },
  own: Partial<CacheRules>,
): Promise<readonly Sent[]> {
  const draw = drawFrom("cache", wire.codec.family, seed);
  const talk = createTalk(wire, draw);
  const sent: Sent[] = [];
  let compared: JsonObject | null = null;
  server.clear();
  for (let n = 0; n < requests; n += 1) {
    const change = n === 0 ? "none" : talk.change();
    const idle = draw.pick([0.5, 0.5, 0.5, 0.5, 4.9, 5.2, 30, 70]);
    clock.ms += Math.round(idle * minute);
    const kind = n > 0 && draw.chance(0.12) ? draw.pick(["evict", "cold-machine", "untold"] as const) : undefined;
    const fault: Fault | undefined = kind === undefined ? undefined : { kind };
    server.inject(fault);
    const settings = talk.settings();
    const details = { ...talk.details(), ...(wire.settings["cacheDiagnostics"] === true ? { compared } : {}) };
    const input = talk.blocks().map((block) => ({ block, withId: false }));
    const body = wire.codec.encodeRequest({ settings, input, anchor: null, transport: "json", details });
    const { model: asked } = settings;
    const model = typeof asked === "string" ? asked : "";
    const { told, verdict, answer } = await sendCached(server, wire.front, { model, body });
    const isTold = told.read !== undefined || (wire.front.name === "gemini" && fault?.kind !== "untold");
    const request = cachedRequest(
      {
        ...{ id: String(n), at: clock.ms, answerAt: clock.ms, family: wire.codec.family, model, settings },
        body: objectOf(parseJson(body)),
        counts: { input: told.prompt, ...(isTold ? { cacheRead: told.read ?? 0 } : {}) },
      },
      own,
    );
    if (request === null) throw new Error(`nothing is known of the prompts of ${wire.codec.family}`);
    const said = compared === null ? null : diagnosisIn(wire.codec.family, answer);
    compared = { id: answer["id"] ?? null };
    sent.push({ request, server: verdict, said, drawn: `${change}, ${idle} min, ${kind ?? "no fault"}` });
    talk.answer();
  }
  return sent;
}

/** Facts that both sides are given. */
export function drawnFacts(
  draw: Draw,
  wire: CachedWire,
): { readonly options: CacheOptions; readonly own: Partial<CacheRules> } {
  const minimumTokens = draw.pick([0, 0, 120, 400]);
  const { name } = wire.front;
  const isMarked = isMarkedOnly(wire);
  const stepTokens = isMarked ? 1 : draw.pick([1, 64, 128]);
  const canEnd = name === "responses" || name === "chat";
  const boundaries = isMarked ? "breakpoints" : canEnd && draw.chance(0.4) ? "message-ends" : "every-unit";
  const lookback = draw.pick([20, 3]);
  const ms: Readonly<Record<string, number>> = isMarked
    ? { default: 5 * minute, "5m": 5 * minute, "1h": 60 * minute }
    : { default: draw.pick([5, 60]) * minute };
  const lifetimes = Object.fromEntries(Object.entries(ms).map(([key, each]) => [key, { leastMs: each, mostMs: each }]));
  const shared = { minimumTokens, stepTokens, boundaries, lookback } as const;
  return { options: { ...shared, lifetimesMs: ms }, own: { ...shared, lifetimes } };
}

function createTalk(wire: CachedWire, draw: Draw) {
  const text = (): string => `${draw.nonce()} ${"word ".repeat(20 + draw.below(60))}`;
  let blocks: readonly Block[] = [user(text())];
  let calls = 0;
  const now = {
    model: wire.models[0],
    isOther: false,
    tools: 1,
    instructions: text(),
    key: "a",
    extra: -1,
    marks: "ends",
  };
  const turns = (): readonly number[] => blocks.flatMap(({ kind }, at) => (kind === "user" ? [at] : []));
  const written = (block: Block): Block =>
    block.kind === "user" ? user(text()) : block.kind === "assistant" ? assistant(text()) : block;
  const changes: Readonly<Record<string, () => void>> = {
    edit() {
      const at = draw.below(blocks.length);
      blocks = blocks.map((block, n) => (n === at ? written(block) : block));
    },
    remove() {
      const [from = 0, to = 0] = turns().slice(draw.below(turns().length)).slice(0, 2);
      if (to > from) blocks = [...blocks.slice(0, from), ...blocks.slice(to)];
    },
    insert() {
      const at = turns()[draw.below(turns().length)] ?? 0;
      blocks = [...blocks.slice(0, at), user(text()), assistant(text()), ...blocks.slice(at)];
    },
    fork() {
      const at = turns()[draw.below(turns().length)] ?? 0;
      blocks = [...blocks.slice(0, at), user(text())];
    },
    model() {
      now.isOther = !now.isOther;
    },
    tools() {
      now.tools = draw.below(3);
    },
    instructions() {
      now.instructions = text();
    },
    key() {
      now.key = draw.pick(["a", "b"]);
    },
    setting() {
      now.extra = draw.below(wire.others.length + 1) - 1;
    },
    marks() {
      now.marks = draw.pick(["ends", "last", "none", "hour"]);
    },
  };
  const names = Object.keys(changes) as [string, ...string[]];
  return {
    blocks: () => blocks,
    change(): string {
      if (draw.chance(0.5)) return "none";
      const name = draw.pick(names);
      changes[name]?.();
      return name;
    },
    answer(): void {
      // Sometimes the same request is sent again.
      if (draw.chance(0.1)) return;
      const called: Block[] = [];
      const count = wire.hasCalls && draw.chance(0.3) ? 1 + draw.below(4) : 0;
      const ids = Array.from({ length: count }, (_, n) => `call_${calls + n}`);
      calls += count;
      for (const callId of ids)
        called.push(toolCall({ callId, name: "look-up", arguments: JSON.stringify({ of: text() }) }));
      for (const callId of ids) called.push(toolResult({ callId, output: text() }));
      blocks = [...blocks, ...called, assistant(text()), user(text())];
    },
    settings(): JsonObject {
      const tools = Array.from({ length: now.tools }, (_, n) => ({
        ...{
          name: `tool-${n}`,
          description: `Does ${n}. ${"word ".repeat(20)}`,
          parameters: { type: "object", properties: {} },
        },
      }));
      const model = wire.models[now.isOther ? 1 : 0];
      const ttl = now.marks === "hour" ? { ttl: "1h" } : {};
      const base = {
        ...{ model, ...wire.settings, ...(now.extra < 0 ? {} : wire.others[now.extra]) },
        ...(wire.separates === null ? {} : { [wire.separates]: now.key }),
        ...(wire.marks !== undefined && isMarkedOnly(wire) ? { [wire.marks.setting]: ttl } : {}),
      };
      return wire.codec.offer(wire.codec.instruct(base, [now.instructions]), { tools, capabilities: {} });
    },
    /** Breakpoints: at the end, where earlier turns began, and of the Messages API after the system prompt. */
    details(): JsonObject | undefined {
      if (wire.marks === undefined || now.marks === "none") return undefined;
      const earlier = turns()
        .slice(0, -1)
        .map((at) => at + 1)
        .toReversed();
      return {
        [wire.marks.details]: now.marks === "last" ? [blocks.length] : [blocks.length, ...earlier.slice(0, 2), 0],
      };
    },
  };
}
