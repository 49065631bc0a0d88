import { expect, test } from "vitest";
import {
  type CacheOptions,
  type CacheVerdict as ServerVerdict,
  startReferenceServer,
} from "../../../../packages/reference-server/src/server.ts";
import type { CachedRequest, CacheVerdict } from "../../../../src/analysis/costs/prompt-cache/cache-verdict.ts";
import { walkCache } from "../../../../src/analysis/costs/prompt-cache/cache-walk.ts";
import { agreesWith, differingRegions } from "../../../../src/analysis/costs/prompt-cache/diagnosis-agreement.ts";
import { aiSdkCodec } from "../../../../src/providers/ai-sdk/ai-sdk-codec.ts";
import { messagesCodec } from "../../../../src/providers/anthropic/messages-codec.ts";
import { chatCodecs } from "../../../../src/providers/chat/chat-codec.ts";
import { geminiCodec } from "../../../../src/providers/google/gemini-codec.ts";
import { interactionsCodec } from "../../../../src/providers/google/interactions-codec.ts";
import { ollamaCodec } from "../../../../src/providers/ollama/ollama-codec.ts";
import { responsesCodec } from "../../../../src/providers/responses/responses-codec.ts";
import { drawFrom } from "../../../../src/testing/rehearsal/draw.ts";
import { isTelling, seeds } from "../../../support/cases.ts";
import { type CachedWire, drawnFacts, drawnTalk } from "../../../support/providers/drawn-talk.ts";
import { cachedFronts } from "../../../support/reference-server/cached-fronts.ts";

const frontOf = (name: string) => cachedFronts.find((front) => front.name === name) ?? expect.fail(name);
const plain = { models: ["model-a", "model-b"], settings: {}, separates: null, hasCalls: false } as const;
const warm = { temperature: 1 };
const explicitMarks = { details: "breakpoints", setting: "cacheBreakpoints" };
const diagnosed = { cacheDiagnostics: true };

const wires: readonly CachedWire[] = [
  {
    ...{ ...plain, front: frontOf("responses"), codec: responsesCodec, hasCalls: true },
    ...{ settings: { store: false, ...diagnosed, cacheBreakpoints: true }, separates: "prompt_cache_key" },
    marks: explicitMarks,
    others: [
      ...([warm, { reasoning: { effort: "low" } }, { parallel_tool_calls: false }] as const),
      ...[{ text: { verbosity: "low" } }, { prompt_cache_options: { mode: "explicit" } }],
    ],
  },
  {
    ...{ ...plain, front: frontOf("chat"), codec: chatCodecs.openai, separates: "prompt_cache_key", hasCalls: true },
    ...{ settings: { cacheBreakpoints: true }, marks: explicitMarks },
    others: [
      ...([warm, { reasoning_effort: "low" }, { parallel_tool_calls: false }] as const),
      ...[{ verbosity: "low" }, { prompt_cache_options: { mode: "explicit" } }],
    ],
  },
  {
    ...{
      ...plain,
      front: frontOf("chat"),
      codec: chatCodecs.openrouter,
      separates: "prompt_cache_key",
      hasCalls: true,
    },
    ...{ server: { chat: "openrouter" }, marks: explicitMarks },
    others: [warm, { reasoning_effort: "low" }, { parallel_tool_calls: false }],
  },
  {
    ...{
      ...plain,
      front: frontOf("messages"),
      codec: messagesCodec,
      settings: { max_tokens: 9, ...diagnosed },
      hasCalls: true,
      marks: { details: "cache", setting: "cache" },
    },
    others: [
      { metadata: {} },
      { tool_choice: { type: "any" } },
      { speed: "fast" },
      { output_config: { effort: "low" } },
    ],
  },
  { ...plain, front: frontOf("gemini"), codec: geminiCodec, others: [{ generationConfig: warm }] },
  {
    ...{ ...plain, front: frontOf("interactions"), codec: interactionsCodec, settings: { store: false } },
    others: [{ generation_config: warm }],
  },
  { ...plain, front: frontOf("ollama"), codec: ollamaCodec, others: [{ options: warm }, { think: true }] },
  { ...plain, front: frontOf("ai-sdk"), codec: aiSdkCodec, models: ["reference", "reference"], others: [warm] },
];

/** The server's reason, as a client can know it. */
const knowable = (reason: ServerVerdict["reason"]): string =>
  reason === "evicted" || reason === "cold-machine" ? "unexplained" : reason;

/** Whether two numbers of tokens differ by less than one step, or than an estimate from bytes may. */
const isNear = (one: number, other: number, step: number): boolean =>
  Math.abs(one - other) <= Math.max(step, other * 0.15);

/**
 * Whether no client could tell: an entry that another machine refreshed may have expired; of two places that differ by less than an
 * estimate may, an answer does not say which one was read; and a prefix about as long as the minimum may be too short for an entry.
 */
function isUndecidable(
  { cause, foreseen, foreseenRead }: CacheVerdict,
  { reason, tokens }: ServerVerdict,
  { stepTokens = 1, minimumTokens = 0 }: CacheOptions,
  written: readonly number[],
): boolean {
  const isUnknowable = knowable(reason) === "unexplained";
  if (isUnknowable && cause === "maybe-expired") return true;
  const limit = Math.max(stepTokens, minimumTokens);
  if ([tokens.shared, foreseenRead?.tokens ?? 0, ...written].some((each) => each > limit * 0.8 && each < limit * 1.2))
    return true;
  return isUnknowable && cause === foreseen && isNear(tokens.read, tokens.shared, 2 * stepTokens);
}

/** About how many tokens end at each of a request's boundaries. */
function tokensAtWrites({ units, boundaries, counts }: CachedRequest): readonly number[] {
  const bytesBefore = (end: number): number => units.slice(0, end).reduce((sum, { bytes }) => sum + bytes, 0);
  const perByte = (counts?.input ?? 0) / Math.max(1, bytesBefore(units.length));
  return units.flatMap((_, place) =>
    boundaries.writes.get(place) === undefined ? [] : [bytesBefore(place + 1) * perByte],
  );
}

/** The causes of misses of which all of the earlier prompt was cached. */
const lossCauses: ReadonlySet<string> = new Set([
  "changed",
  "tools-changed",
  "setting-changed",
  "expired",
  "unexplained",
]);

async function compared(wire: CachedWire) {
  const clock = { ms: 0 };
  const reasons = new Map<string, number>();
  const wrong: string[] = [];
  const figures = {
    ...{ requests: 0, undecidable: 0, estimates: 0, near: 0, losses: 0, nearLosses: 0 },
    ...{ agreed: 0, notCompared: 0 },
  };
  for (const seed of seeds(15, 90, 12)) {
    const { options, own } = drawnFacts(drawFrom("facts", wire.codec.family, seed), wire);
    const { stepTokens: step = 1 } = options;
    await using server = await startReferenceServer({
      ...{ seed: "cache", now: () => clock.ms, caches: { [wire.front.name]: options }, ...wire.server },
    });
    const sent = await drawnTalk(wire, { seed, requests: 16, server, clock }, own);
    const verdicts = walkCache(sent.map(({ request }) => request));
    for (const [n, { server: truth, drawn, said, request }] of sent.entries()) {
      const before = sent[n - 1]?.request;
      if (said !== null && before !== undefined) {
        const differing = differingRegions(wire.codec.family, before, request);
        const agrees = agreesWith(said, differing);
        if (agrees === false)
          wrong.push(`seed ${seed}, request ${n} (${drawn}): ${said.reason}, not ${[...differing].join()}`);
        figures[agrees === true ? "agreed" : "notCompared"] += 1;
      }
      const verdict = verdicts[n] ?? expect.fail("no verdict");
      const reason = knowable(truth.reason);
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
      figures.requests += 1;
      if (verdict.shared !== null && truth.isTold) {
        figures.estimates += 1;
        if (isNear(verdict.shared.tokens, truth.tokens.shared, step)) figures.near += 1;
      }
      const earlier = sent[truth.against ?? -1]?.server.tokens.prompt;
      if (truth.isTold && earlier !== undefined && lossCauses.has(verdict.cause)) {
        // Of what the earlier request had cached, no more can be lost than this one has.
        const lost = Math.max(0, Math.min(earlier, truth.tokens.prompt) - truth.tokens.read);
        figures.losses += 1;
        if (isNear(verdict.lost?.tokens ?? -1, lost, step)) figures.nearLosses += 1;
      }
      const [mine, theirs] = [
        [verdict.cause, verdict.unit?.path ?? null, verdict.against].join(),
        [truth.isTold ? reason : "untold", truth.differs?.path ?? null, truth.against].join(),
      ];
      const isForeseen = truth.isTold || reason === "unexplained" || verdict.foreseen === reason;
      if (mine === theirs && isForeseen) continue;
      const against = sent[truth.against ?? -1]?.request;
      const written = against === undefined ? [] : tokensAtWrites(against);
      if (isUndecidable(verdict, truth, options, written)) figures.undecidable += 1;
      else
        wrong.push(
          `seed ${seed}, request ${n} (${drawn}): ${mine} ${verdict.foreseen}; the server: ${theirs} ${truth.reason}`,
        );
    }
  }
  return { reasons, wrong, figures };
}

test.each(wires)(
  "$codec.family: the cause of each request, and the unit that differs, are those that the server gives",
  { timeout: 600_000 },
  async (wire) => {
    const { reasons, wrong, figures } = await compared(wire);
    const { requests, undecidable, estimates, near, losses, nearLosses, agreed, notCompared } = figures;
    console.info(
      `cache of ${wire.codec.family}: ${requests} requests, ${wrong.length} with another verdict, ${undecidable} undecidable, ${near} of ${estimates} estimates near, ${nearLosses} of ${losses} losses, ${agreed} as the server said, ${notCompared} not compared; ${[...reasons].map((each) => each.join(" ")).join(", ")}`,
    );
    expect(wrong.slice(0, 5)).toEqual([]);
    expect(undecidable).toBeLessThanOrEqual(Math.max(2, requests / 100));
    expect(near).toBeGreaterThanOrEqual(estimates * 0.95);
    expect(nearLosses).toBeGreaterThanOrEqual(losses * 0.95);
    if (!isTelling) return;
    if (wire.settings["cacheDiagnostics"] === true) expect(agreed).toBeGreaterThan(requests / 2);
    for (const reason of ["first", "read", "changed", "expired", "unexplained"])
      expect([reason, (reasons.get(reason) ?? 0) > 0]).toEqual([reason, true]);
  },
);
