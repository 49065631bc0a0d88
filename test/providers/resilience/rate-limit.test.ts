import { RateLimiterMemory, RateLimiterUnion } from "rate-limiter-flexible";
import { expect, test, vi } from "vitest";
import type { Provider } from "../../../src/engine/ports/provider.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { type RateLimitOptions, rateLimit } from "../../../src/providers/resilience/rate-limit.ts";
import { type ScriptedAnswer, scripted } from "../../../src/providers/scripted/scripted.ts";
import { tooFewPoints } from "../../support/providers/guarded.ts";
import { createWorkshop, dataOf, eventsOf, rejectionOf } from "../../support/workshop.ts";

const { signal } = new AbortController();
const ask = (provider: Provider, bodyText = '{"input":"Hello there."}') =>
  provider.infer({ bodyText, settings: {}, transport: "json", signal, onDelta: () => undefined });

/** A limiter of the library, and what one key has used of it. */
function memory(points: number, options: { readonly blockDuration?: number } = {}) {
  const limiter = new RateLimiterMemory({ points, duration: 3_600, ...options });
  return { limiter, used: async () => (await limiter.get("key"))?.consumedPoints ?? 0 };
}

const limited = (options: RateLimitOptions, answers: readonly ScriptedAnswer[] = []) => {
  const bare = scripted(answers.length === 0 ? () => "Hello." : answers);
  return { bare, provider: rateLimit(bare, { key: "key", ...options }) };
};

test("counts requests, and refuses those beyond the limit without asking the provider", async () => {
  const { limiter, used } = memory(2);
  const { provider, bare } = limited({ limiter });
  await ask(provider);
  await ask(provider);
  const refused = await ask(provider).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ProviderError);
  expect(refused).toMatchObject({ kind: "limit-reached", outcome: "rejected", shouldRetry: true });
  expect(refused).toHaveProperty("retryAfterMs", expect.any(Number));
  // What was refused does not count: a smaller request may still fit.
  expect([bare.requests.length, await used()]).toEqual([2, 2]);
});

test("reserves tokens, and corrects them by what the provider counted, down and up", async () => {
  const { limiter, used } = memory(10_000);
  const { provider } = limited({ limiter, tokens: 5_000 });
  const first = await ask(provider);
  const counted = totalOf(first.response["usage"]);
  expect(counted).toBeGreaterThan(0);
  expect(await used()).toBe(counted);
  const { provider: modest } = limited({ limiter, tokens: () => 1 });
  const second = totalOf((await ask(modest)).response["usage"]);
  expect(await used()).toBe(counted + second);
});

const totalOf = (usage: unknown): number => {
  const { input_tokens: input, output_tokens: output } = usage as Record<"input_tokens" | "output_tokens", number>;
  return input + output;
};

test("gives the tokens of a rejected request back, and keeps those of an unknown outcome", async () => {
  const { limiter, used } = memory(10_000);
  const answers = [{ error: { status: 400, message: "no" } }, { error: { status: 500, message: "down" } }];
  const { provider } = limited({ limiter, tokens: 300 }, answers);
  await expect(ask(provider)).rejects.toMatchObject({ outcome: "rejected" });
  expect(await used()).toBe(0);
  await expect(ask(provider)).rejects.toMatchObject({ outcome: "unknown" });
  expect(await used()).toBe(300);
});

test("a request that needs more than the limiter ever gives is refused for good, and smaller ones still fit", async () => {
  const { limiter } = memory(100);
  const { provider } = limited({ limiter, tokens: ({ bodyText }) => bodyText.length });
  const refused = await rejectionOf(ask(provider, `{"input":"${"x".repeat(200)}"}`));
  expect(refused).toMatchObject({ kind: "limit-reached", shouldRetry: false, retryAfterMs: null });
  expect(String(refused)).toContain("more than the limiter ever gives");
  await ask(provider);
});

test("a limiter that blocks keys keeps its block: refused points are not given back", async () => {
  const { limiter } = memory(1, { blockDuration: 3_600 });
  const { provider } = limited({ limiter });
  await ask(provider);
  await expect(ask(provider)).rejects.toMatchObject({ kind: "limit-reached" });
  await expect(ask(provider)).rejects.toMatchObject({ kind: "limit-reached" });
});

test("takes a union of limiters, and waits for the slowest of those that refuse", async () => {
  const options = { points: 1, keyPrefix: "minute" };
  const limiter = new RateLimiterUnion(
    new RateLimiterMemory({ ...options, duration: 60 }),
    new RateLimiterMemory({ ...options, keyPrefix: "hour", duration: 3_600 }),
  );
  const { provider, bare } = limited({ limiter });
  await ask(provider);
  const refused = await rejectionOf(ask(provider));
  expect(refused).toMatchObject({ kind: "limit-reached", shouldRetry: true });
  expect(refused).toHaveProperty(
    "retryAfterMs",
    expect.toSatisfy((ms: number) => ms > 60_000),
  );
  expect(bare.requests).toHaveLength(1);
});

test("sends requests while the limiter is down and reports that once, until it answers again", async () => {
  const reports: unknown[] = [];
  let isUp = false;
  const limiter = {
    consume: async () => {
      if (!isUp) throw new Error("no connection to Redis");
    },
  };
  const { provider, bare } = limited({ limiter, onDown: (error) => reports.push(error) });
  await ask(provider);
  await ask(provider);
  expect([bare.requests.length, reports.map(String)]).toEqual([2, ["Error: no connection to Redis"]]);
  isUp = true;
  await ask(provider);
  isUp = false;
  await ask(provider);
  expect(reports).toHaveLength(2);
});

test("refuses requests while the limiter is down, if the caller wants that", async () => {
  const limiter = { consume: () => Promise.reject(new Error("down")) };
  const { provider, bare } = limited({ limiter, whenDown: "refuse", onDown: () => undefined });
  await expect(ask(provider)).rejects.toMatchObject({ kind: "limiter-down", outcome: "rejected", shouldRetry: true });
  expect(bare.requests).toEqual([]);
});

test("a limiter that does not answer counts as down after its time, and its warning names the reason", async () => {
  const warnings: string[] = [];
  const warn = vi.spyOn(process, "emitWarning").mockImplementation((warning) => void warnings.push(String(warning)));
  const limiter = { consume: () => new Promise(() => undefined) };
  const { provider, bare } = limited({ limiter, limiterTimeoutMs: 1 });
  await ask(provider);
  warn.mockRestore();
  expect([bare.requests.length, warnings]).toEqual([
    1,
    ["a rate limiter does not answer: the limiter did not answer within 1 ms"],
  ]);
});

test("a request that its caller gives up while the limiter thinks is not sent, and gives its points back", async () => {
  const given: number[] = [];
  const thinks = Promise.withResolvers<null>();
  const limiter = {
    consume: () => thinks.promise,
    penalty: async () => null,
    reward: async (_: string, points: number) => void given.push(points),
  };
  const { provider, bare } = limited({ limiter, tokens: 30 });
  const abort = new AbortController();
  const request = { bodyText: "{}", settings: {}, transport: "json", onDelta: () => undefined };
  const asking = provider.infer({ ...request, signal: abort.signal });
  abort.abort();
  await expect(asking).rejects.toMatchObject({ kind: "aborted", outcome: "rejected" });
  thinks.resolve(null);
  await expect.poll(() => given).toEqual([30]);
  expect(bare.requests).toEqual([]);
});

test("a failing correction neither fails the request nor loses its answer", async () => {
  const reports: unknown[] = [];
  const limiter = {
    consume: async () => null,
    penalty: () => Promise.reject(new Error("down")),
    reward: () => Promise.reject(new Error("down")),
  };
  const { provider } = limited({ limiter, tokens: 1, onDown: (error) => reports.push(String(error)) });
  expect((await ask(provider)).response).toBeDefined();
  expect(reports).toEqual(["Error: down"]);
});

test("a function that gives no number of tokens fails its request, of which nothing was sent", async () => {
  const { limiter } = memory(10);
  const { provider, bare } = limited({ limiter, tokens: () => Number.NaN });
  await expect(ask(provider)).rejects.toMatchObject({ kind: "provider-failed", outcome: "rejected" });
  expect(bare.requests).toEqual([]);
});

test("the engine asks again as soon as the limiter says, and records the refusal", async () => {
  const { conversation, engine, waits } = createWorkshop();
  let asked = 0;
  const limiter = {
    async consume() {
      asked += 1;
      return asked === 1 ? tooFewPoints(2_500) : null;
    },
  };
  await conversation.append("Hello.");
  const { text } = await conversation.run(engine({ provider: rateLimit(scripted(["Hi."]), { limiter }) }));
  const [failed] = dataOf(await eventsOf(conversation), "InferenceFailed");
  expect([text, failed]).toMatchObject(["Hi.", { kind: "limit-reached", outcome: "rejected", retryAfterMs: 2_500 }]);
  expect(waits).toHaveLength(1);
  expect(waits[0]).toBeGreaterThanOrEqual(2_500);
});
