import { beforeAll, describe, expect, test } from "vitest";
import {
  type Exchange,
  hasRecordings,
  needsRecordings,
  recordedExchanges,
} from "../../support/providers/recorded-cases.ts";
import { isCreate, type Resent, resend } from "../../support/providers/recorded-client.ts";
import { areEqual, normalisations } from "../../support/providers/recorded-normalisations.ts";

/** Requests that turnlog sends otherwise, by case and place in it, and why. */
const excluded: ReadonlyMap<string, string> = new Map([
  ...[
    "responses-openai-conversation-id-auto-respects-pydantic-ai-conversation-id 0",
    "responses-openai-conversation-id-explicit-and-auto 0",
    "responses-openai-conversation-id-explicit-and-auto 1",
    "responses-openai-conversation-id-preserves-mismatched-history 0",
  ].map((name) => [name, "it names a conversation object"] as const),
  ...[
    "bedrock-mantle-reused-tool-call-ids-stream 2",
    "deepseek-responses-deepseek-responses-text-multi-turn 1",
    "responses-openai-responses-phase-streamed-on-part-start 1",
  ].map((name) => [name, "its client edited an item behind a reasoning, which then is not sent"] as const),
  ...["tool-search-openai-native-tool-search-round-trip 1", "tool-search-openai-native-tool-search-streaming 1"].map(
    (name) => [name, "its client left out a part of an answer, and named the rest by its ids all the same"] as const,
  ),
  ...[
    "deepseek-responses-deepseek-responses-replay-own-reasoning-history 0",
    "deepseek-responses-deepseek-responses-replay-own-reasoning-history 1",
  ].map((name) => [name, "it begins with reasoning that no recorded answer had"] as const),
  ["responses-openai-responses-compact-stateful-mode 3", "its client sent again what the compaction stands for"],
]);

/** Exchanges that ask for no response. */
const others: readonly (readonly [string, RegExp, number])[] = [
  ["anthropic: another API", /^POST .*\/v1\/messages\?/, 10],
  ["google: another API", /^POST .*:generateContent$/, 5],
  ["conversation objects", /^(POST|DELETE) \/v1\/conversations/, 6],
  ["retrieves of a response", /^GET \/v1\/responses\//, 2],
  ["compactions", /^POST \/v1\/responses\/compact$/, 5],
  ["counts of input tokens", /^POST \/v1\/responses\/input_tokens$/, 2],
];

test.skipIf(!hasRecordings)(`recorded requests are all there to be made again${needsRecordings}`, () => {
  expect(recordedExchanges().length).toBe(224);
});

// Without recordings the one test above says so; the others would only repeat it.
const describeRecorded = hasRecordings ? describe : () => undefined;

describeRecorded("recorded requests", () => {
  const exchanges = hasRecordings ? recordedExchanges() : [];
  let resent: readonly (Resent & { readonly name: string })[] = [];
  beforeAll(async () => {
    const cases = [...Map.groupBy(exchanges, ({ case: name }) => name)];
    const all = await Promise.all(
      cases.map(async ([name, of]) => (await resend(of)).map((each, place) => ({ ...each, name: `${name} ${place}` }))),
    );
    resent = all.flat();
  });
  const isLike = ({ exchange, sent }: Resent, by = normalisations): boolean =>
    sent !== null && areEqual(sent, exchange.request, by);

  test("are the ones that turnlog sends in their place, but for what is named", () => {
    const different = resent.filter((each) => !isLike(each)).map(({ name }) => name);
    console.log(
      `recorded requests: ${resent.length - different.length} sent alike, ${excluded.size} excluded by name, ` +
        `${exchanges.length - resent.length} for no response, ${normalisations.length} normalisations`,
    );
    expect(different.toSorted()).toEqual([...excluded.keys()].toSorted());
    expect(resent.length).toBe(194);
  });

  test("are all of one kind or another", () => {
    const counts = others.map(([name, pattern]) => [
      name,
      exchanges.filter((each) => pattern.test(lineOf(each))).length,
    ]);
    expect(counts).toEqual(others.map(([name, , count]) => [name, count]));
    const count = others.reduce((sum, [, , each]) => sum + each, 0);
    expect(count + exchanges.filter(isCreate).length).toBe(exchanges.length);
  });

  test.each(normalisations.map(({ name }) => [name]))("would differ unless %s", (name) => {
    const rest = normalisations.filter((each) => each.name !== name);
    expect(resent.filter((each) => isLike(each) && !isLike(each, rest))).not.toEqual([]);
  });

  test("that name a conversation object differ in nothing else", () => {
    const named = resent.filter(({ exchange }) => exchange.request["conversation"] !== undefined);
    expect(named.map(({ name }) => excluded.get(name))).toEqual(named.map(() => "it names a conversation object"));
    for (const { exchange, sent } of named) {
      const { conversation: _, ...request } = exchange.request;
      expect(sent !== null && areEqual(sent, request)).toBe(true);
    }
  });
});

const lineOf = ({ method, path }: Exchange): string => `${method} ${path}`;
