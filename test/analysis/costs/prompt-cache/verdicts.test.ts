import { expect, onTestFinished, test } from "vitest";
import { message, startReferenceServer } from "../../../../packages/reference-server/src/server.ts";
import type { CacheRules } from "../../../../src/analysis/costs/prompt-cache/cache-rules.ts";
import type { CachedRequest } from "../../../../src/analysis/costs/prompt-cache/cache-verdict.ts";
import { walkCache } from "../../../../src/analysis/costs/prompt-cache/cache-walk.ts";
import { cachedRequest } from "../../../../src/analysis/costs/prompt-cache/cached-request.ts";
import { type JsonObject, objectOf, parseJson, textOrEmpty } from "../../../../src/base/json.ts";
import type { Block } from "../../../../src/domain/block.ts";
import { assistant, toolCall, toolResult, user } from "../../../../src/domain/make-block.ts";
import { messagesCodec } from "../../../../src/providers/anthropic/messages-codec.ts";
import { claudeCliCodec } from "../../../../src/providers/claude-cli/claude-cli-codec.ts";
import { responsesCodec } from "../../../../src/providers/responses/responses-codec.ts";

const minute = 60_000;
const long = (text: string): string => `${text} ${"x".repeat(400)}`;
const codecs = { responses: responsesCodec, messages: messagesCodec };
type Asked = {
  readonly wire?: keyof typeof codecs;
  readonly at?: number;
  readonly answerAt?: number | null;
  readonly read?: number;
  readonly input?: number;
  readonly settings?: JsonObject;
  readonly details?: JsonObject;
  readonly blocks: readonly Block[];
  readonly own?: Partial<CacheRules>;
};

/** Requests of one scope, each with what its answer reported. */
const verdictsOf = (...requests: readonly Asked[]) =>
  walkCache(
    requests.map((asked, n): CachedRequest => {
      const { wire = "responses", at = n * minute, read, input, settings = {}, details, blocks, own } = asked;
      const codec = codecs[wire];
      const all = { model: wire === "messages" ? "claude-sonnet-4-6" : "a-model", max_tokens: 9, ...settings };
      const sent = blocks.map((block) => ({ block, withId: false }));
      const body = objectOf(
        parseJson(codec.encodeRequest({ settings: all, input: sent, anchor: null, transport: "json", details })),
      );
      const counts = { ...(input === undefined ? {} : { input }), ...(read === undefined ? {} : { cacheRead: read }) };
      const model = textOrEmpty(all.model);
      const logged = {
        id: `inf_${n}`,
        at,
        answerAt: asked.answerAt === undefined ? at + 1_000 : asked.answerAt,
        counts,
      };
      const whole = { ...logged, family: codec.family, model, settings: all, body };
      return cachedRequest(whole, { minimumTokens: 0, stepTokens: 1, ...own }) ?? expect.fail("no model");
    }),
  );

const lasting = (leastMs: number, mostMs: number): Partial<CacheRules> => ({
  lifetimes: { default: { leastMs, mostMs } },
});
const [one, two, three] = [user(long("One?")), assistant(long("Two.")), user(long("Three?"))] as const;

test("append-only talk within the lifetime misses nothing", () => {
  const blocks: Block[] = [];
  const requests = Array.from({ length: 20 }, (_, n) => {
    blocks.push(...(n === 0 ? [] : [assistant(long(`Answer ${n}.`))]), user(long(`Question ${n}?`)));
    return {
      blocks: [...blocks],
      input: 100 * (2 * n + 1),
      read: Math.max(0, 100 * (2 * n - 1)),
      own: lasting(2 * minute, 2 * minute),
    };
  });
  const [first, ...others] = verdictsOf(...requests);
  expect(first).toMatchObject({ cause: "first", against: null, unit: null, lost: null });
  expect(others.map(({ cause, lost }) => [cause, lost?.tokens])).toEqual(others.map(() => ["read", 0]));
});

test("a prompt that is shorter than the cache counts in loses nothing when nothing is read", () => {
  const unknown = { minimumTokens: null, stepTokens: null };
  const [, last] = verdictsOf(
    { blocks: [one], input: 39, read: 0, own: unknown },
    { blocks: [one, two, three], input: 118, read: 0, own: unknown },
  );
  expect(last).toMatchObject({ cause: "read", expected: { tokens: 39 }, lost: { tokens: 0 } });
});

test("an edit is found, with the tokens that it lost", () => {
  const [, , last] = verdictsOf(
    { blocks: [one], input: 100, read: 0 },
    { blocks: [one, two, three], input: 300, read: 100 },
    { blocks: [one, assistant(long("2.")), three], input: 300, read: 100 },
  );
  expect(last).toMatchObject({
    ...{ cause: "changed", against: "inf_1", unit: { path: "input.1", kind: "block" } },
    ...{ expected: { tokens: 300, isAbout: false }, lost: { tokens: 200 }, shared: { tokens: 100, isAbout: false } },
  });
});

test("what was removed from a prompt is not lost: no more is paid for again than the prompt has", () => {
  const [, , last] = verdictsOf(
    { blocks: [one], input: 100, read: 0 },
    { blocks: [one, two, three], input: 300, read: 100 },
    { blocks: [one, user(long("So?"))], input: 200, read: 100 },
  );
  expect(last).toMatchObject({ cause: "changed", against: "inf_1", expected: { tokens: 300 }, lost: { tokens: 100 } });
});

test("less than an entry should give is unexplained, and may have expired if the vendor gives a range", () => {
  const asked = (idle: number) => [
    { blocks: [one], input: 100, read: 0, at: 0 },
    { blocks: [one], input: 100, read: 0, at: idle },
  ];
  const cause = (idle: number, own: Partial<CacheRules>) =>
    verdictsOf(...asked(idle).map((each) => ({ ...each, own })))[1]?.cause;
  expect(cause(4 * minute, lasting(5 * minute, 60 * minute))).toBe("unexplained");
  expect(cause(6 * minute, lasting(5 * minute, 60 * minute))).toBe("maybe-expired");
  expect(cause(61 * minute, lasting(5 * minute, 60 * minute))).toBe("expired");
  const [, last] = verdictsOf(...asked(6 * minute).map((each) => ({ ...each, own: lasting(5 * minute, 60 * minute) })));
  expect(last).toMatchObject({ idleMs: 6 * minute, lost: { tokens: 100, isAbout: false } });
});

test("an answer that has not begun has nothing to read, and an answer to an unknown request reads more than is known", () => {
  const first = { blocks: [one], input: 100, read: 0, at: 0, answerAt: 2 * minute };
  expect(verdictsOf(first, { ...first, at: minute })[1]?.cause).toBe("not-yet-readable");
  expect(verdictsOf(first, { ...first, at: 3 * minute, read: 100 })[1]?.cause).toBe("read");
  const known = { ...first, answerAt: minute };
  expect(verdictsOf(known, { blocks: [user(long("Other?"))], input: 100, read: 90, at: 3 * minute })[1]).toMatchObject({
    ...{ cause: "more-than-known", foreseen: "changed" },
  });
});

test("nothing is concluded from an answer without counts", () => {
  const [, last] = verdictsOf({ blocks: [one] }, { blocks: [two, three] });
  expect(last).toMatchObject({ cause: "untold", foreseen: "changed", expected: null, lost: null });
});

test("a breakpoint of the request as a whole is on its last block", () => {
  const asked = (...blocks: readonly Block[]) => ({
    ...{ wire: "messages" as const, blocks, settings: { cache_control: { type: "ephemeral", ttl: "1h" } } },
    ...{ input: blocks.length * 100, read: 0 },
  });
  const [, read] = verdictsOf(asked(one), { ...asked(one, two, three), read: 100, at: 50 * minute });
  expect(read).toMatchObject({ cause: "read", foreseenRead: { tokens: 100 } });
  expect(verdictsOf(asked(one), { ...asked(one, two, three), at: 61 * minute })[1]?.cause).toBe("expired");
});

test("a moved breakpoint is no change, and without one nothing is read", () => {
  const wire = "messages";
  const cache = { cache: {} };
  const first = { wire, blocks: [one], details: { cache: [1] }, settings: cache, input: 100, read: 0 } as const;
  const next = { ...first, blocks: [one, two, three], details: { cache: [3] }, input: 300, read: 100 };
  expect(verdictsOf(first, next)[1]).toMatchObject({ cause: "read", unit: { path: "messages.1.content.0" } });
  expect(verdictsOf(first, { ...next, settings: {}, details: {}, read: 0 })[1]?.cause).toBe("no-breakpoint");
});

test("a run of calls is one position of a lookback, and so is a run of results", () => {
  const ids = Array.from({ length: 30 }, (_, n) => `call_${n}`);
  const calls = ids.map((callId) => toolCall({ callId, name: "look-up", arguments: "{}" }));
  const results = ids.map((callId) => toolResult({ callId, output: "x" }));
  const texts = ids.map((text) => user(text));
  const wire = "messages";
  const first = { wire, blocks: [one], details: { cache: [1] }, settings: { cache: {} }, input: 100, read: 0 } as const;
  const called = { ...first, blocks: [one, ...calls, ...results], details: { cache: [61] }, input: 700, read: 100 };
  expect(verdictsOf(first, called)[1]?.cause).toBe("read");
  const far = { ...first, blocks: [one, two, ...texts], details: { cache: [32] }, input: 700 };
  expect(verdictsOf(first, far)[1]).toMatchObject({ cause: "out-of-lookback", lost: { tokens: 100 } });
});

test("an entry at the end of a message that is no end any more is behind a moved boundary", () => {
  const own = { boundaries: "message-ends" } as const;
  const call = (callId: string) => toolCall({ callId, name: "look-up", arguments: "{}" });
  const result = (callId: string) => toolResult({ callId, output: long(callId) });
  const [, , last] = verdictsOf(
    { own, blocks: [one], input: 100, read: 0 },
    { own, blocks: [one, call("a"), result("a")], input: 300, read: 100 },
    { own, blocks: [one, call("a"), result("a"), result("b")], input: 400, read: 100 },
  );
  expect(last?.foreseen).toBe("boundary-moved");
});

test("settings between the system prompt and the messages take no position of a lookback", () => {
  const own = { lookback: 3 };
  const settings = { cache: {}, instructions: "Be brief." };
  const asked = { wire: "messages", own, settings, read: 0, input: 200 } as const;
  const near = { ...asked, blocks: [user("a"), user("b")], details: { cache: [2] } };
  const first = { ...asked, blocks: [user("x")], details: { cache: [1, 0] } };
  expect(verdictsOf(first, { ...near, read: 50 })[1]?.foreseenRead?.tokens).toBeGreaterThan(0);
  const far = { ...near, blocks: [user("a"), user("b"), user("c")], details: { cache: [3] } };
  expect(verdictsOf(first, far)[1]?.foreseenRead?.tokens).toBe(0);
});

test("reading an entry begins its own lifetime again, and a mark for a shorter one does not end it", () => {
  const asked = { wire: "messages", settings: { cache: {}, instructions: long("Be brief.") }, input: 200 } as const;
  const hour = { ...asked, settings: { ...asked.settings, cache: { ttl: "1h" } } };
  const said = (text: string) => ({ blocks: [user(text)], details: { cache: [1, 0] } });
  const [, second, third] = verdictsOf(
    { ...hour, ...said("a"), at: 0, read: 0 },
    { ...asked, ...said("b"), at: 50 * minute, read: 190 },
    { ...asked, ...said("c"), at: 100 * minute, read: 190 },
  );
  expect([second?.cause, third?.cause]).toEqual(["changed", "changed"]);
  expect(third?.foreseenRead?.tokens).toBeGreaterThan(0);
});

test("a request that missed without a reason leaves open whether it refreshed the entry", () => {
  const own = lasting(5 * minute, 60 * minute);
  const asked = { own, blocks: [one], input: 100, read: 0 };
  const times = [0, 4, 8].map((each) => ({ ...asked, at: each * minute }));
  expect(verdictsOf(...times).map(({ cause }) => cause)).toEqual(["first", "unexplained", "maybe-expired"]);
});

test("an expired entry that is written again is readable once that answer begins", () => {
  const own = lasting(5 * minute, 5 * minute);
  const asked = { own, blocks: [one], input: 100, read: 0 };
  const [, second, third] = verdictsOf(
    { ...asked, at: 0 },
    { ...asked, at: 10 * minute, answerAt: 12 * minute },
    { ...asked, at: 11 * minute },
  );
  expect([second?.cause, third?.cause]).toEqual(["expired", "not-yet-readable"]);
});

test("settings have no tokens, so nothing is estimated for them", () => {
  const settings = { instructions: "Be brief." };
  const asked = { blocks: [one], input: 100, read: 0 };
  expect(verdictsOf({ ...asked, settings }, { ...asked, settings: { instructions: "Be exact." } })[1]).toMatchObject({
    ...{ cause: "changed", unit: { path: "instructions", kind: "system" }, shared: { tokens: 0, isAbout: false } },
  });
});

test("a request names the lifetime of its entries", () => {
  const lifetimes = {
    default: { leastMs: minute, mostMs: minute },
    "12h": { leastMs: 720 * minute, mostMs: 720 * minute },
  };
  const asked = { own: { lifetimes }, blocks: [one], input: 100, read: 100 };
  const named = { ...asked, settings: { prompt_cache_options: { ttl: "12h" } } };
  expect(verdictsOf({ ...named, at: 0 }, { ...named, at: 700 * minute })[1]?.foreseen).toBe("read");
  expect(verdictsOf({ ...asked, at: 0 }, { ...asked, at: 700 * minute })[1]?.foreseen).toBe("expired");
});

test("ids, states and ciphertexts are no change, except of reasoning without a text", () => {
  const unitsOf = (...input: readonly JsonObject[]) => {
    const logged = {
      id: "inf_0",
      at: 0,
      answerAt: 0,
      counts: null,
      family: responsesCodec.family,
      model: "",
      settings: {},
    };
    return cachedRequest({ ...logged, body: { model: "m", input } })?.units.map(({ digest }) => digest);
  };
  const item = { type: "message", role: "assistant", content: "Yes." };
  expect(unitsOf({ ...item, id: "msg_1", status: "completed" })).toEqual(unitsOf(item));
  const thought = (more: JsonObject) => ({ type: "reasoning", summary: [], ...more });
  const read = { summary: [{ type: "summary_text", text: "Hm." }] };
  expect(unitsOf(thought({ ...read, encrypted_content: "a" }))).toEqual(
    unitsOf(thought({ ...read, encrypted_content: "b" })),
  );
  for (const name of ["id", "encrypted_content"])
    expect(unitsOf(thought({ [name]: "a" }))).not.toEqual(unitsOf(thought({ [name]: "b" })));
});

test("a chained request and the same request in full get one verdict, from turnlog and from the server", async () => {
  const server = await startReferenceServer({
    seed: "cache",
    answer: ({ request }) => ({ output: [message(`Answer ${request}.`)] }),
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const settings = { model: "a-model" };
  const requests: CachedRequest[] = [];
  const ask = async (blocks: readonly Block[], anchor: string | null, sent = blocks) => {
    const parts = (given: readonly Block[], id: string | null) => ({
      ...{ settings, input: given.map((block) => ({ block, withId: false })), transport: "json" },
      anchor: id === null ? null : { kind: "response", id },
    });
    const body = responsesCodec.encodeRequest(parts(sent, anchor));
    const told = objectOf(
      parseJson(await (await fetch(`${server.baseUrl}/responses`, { method: "POST", body })).text()),
    );
    const usage = objectOf(told["usage"]);
    const read = objectOf(usage["input_tokens_details"])["cached_tokens"];
    const whole = objectOf(parseJson(responsesCodec.encodeRequest(parts(blocks, null))));
    const counts = { input: Number(usage["input_tokens"]), cacheRead: Number(read) };
    const at = requests.length * minute;
    const logged = {
      id: String(requests.length),
      at,
      answerAt: at,
      counts,
      family: responsesCodec.family,
      model: "a-model",
    };
    requests.push(cachedRequest({ ...logged, settings, body: whole }) ?? expect.fail("no model"));
    return textOrEmpty(told["id"]);
  };
  const first = await ask([one], null);
  const answer = assistant("Answer 0.");
  await ask([one, answer, three], first, [three]);
  await ask([one, answer, three], null);
  await ask([user("Changed."), answer, three], null);
  const mine = walkCache(requests).map(({ cause, against, unit }) => [cause, against, unit?.path]);
  const theirs = server.requests.map(({ cache }) => [
    cache?.reason,
    cache?.against?.toString() ?? null,
    cache?.differs?.path,
  ]);
  expect(mine).toEqual(theirs);
  expect(mine).toEqual([
    ["first", null, undefined],
    ["read", "0", "input.1"],
    ["read", "1", undefined],
    ["changed", "2", "input.0"],
  ]);
});

test("nothing is said of the Claude CLI, which makes its prompts itself", () => {
  const parts = { settings: {}, input: [{ block: one, withId: false }], anchor: null, transport: "json" };
  const body = objectOf(parseJson(claudeCliCodec.encodeRequest(parts)));
  const logged = {
    id: "inf_0",
    at: 0,
    answerAt: 0,
    counts: null,
    family: claudeCliCodec.family,
    model: "",
    settings: {},
    body,
  };
  expect(cachedRequest(logged)).toBeNull();
});
