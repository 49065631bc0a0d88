import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Provider } from "../../../src/engine/ports/provider.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { type CircuitBreakerOptions, circuitBreaker } from "../../../src/providers/resilience/circuit-breaker.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const down = new ProviderError("secret words of a conversation", { kind: "server-error", outcome: "unknown" });
const invalid = new ProviderError("no", { kind: "invalid-request", outcome: "rejected", status: 400 });

/** A provider that does what each call is given, behind a breaker. */
function scene(options: CircuitBreakerOptions = {}) {
  const states: string[] = [];
  let asked = 0;
  let next: () => Promise<void> = async () => undefined;
  const bare: Provider = {
    ...scripted([]),
    infer: async () => {
      asked += 1;
      await next();
      return { response: {} };
    },
  };
  const provider = circuitBreaker(bare, {
    failures: 2,
    openMs: 1_000,
    onState: (state) => states.push(state),
    ...options,
  });
  const call = (signal = new AbortController().signal): Promise<string> =>
    provider.infer({ bodyText: "{}", settings: {}, transport: "json", signal, onDelta: () => undefined }).then(
      () => "ok",
      (error: unknown) => (error instanceof ProviderError ? error.kind : String(error)),
    );
  return {
    ...{ provider, states, call, asked: () => asked },
    will: (how: () => Promise<void>) => {
      next = how;
    },
  };
}

const fail = (error: unknown) => async (): Promise<void> => {
  throw error;
};

test("opens after failures in a row, refuses without asking, and closes when a test request succeeds", async () => {
  const { call, will, asked, states } = scene();
  will(fail(down));
  expect([await call(), await call(), await call(), await call()]).toEqual([
    ...["server-error", "server-error", "circuit-open", "circuit-open"],
  ]);
  expect([asked(), states]).toEqual([2, ["open"]]);
  vi.setSystemTime(Date.now() + 1_000);
  will(async () => undefined);
  expect([await call(), await call(), asked()]).toEqual(["ok", "ok", 4]);
  expect(states).toEqual(["open", "half-open", "closed"]);
});

test("a refusal says when the endpoint is tried again, that nothing was sent, and nothing of other conversations", async () => {
  const { provider, call, will } = scene();
  will(fail(down));
  await call();
  await call();
  vi.setSystemTime(Date.now() + 400);
  const { signal } = new AbortController();
  const refused = provider.infer({ bodyText: "{}", settings: {}, transport: "json", signal, onDelta: () => undefined });
  await expect(refused).rejects.toMatchObject({
    ...{ code: "provider-failed", kind: "circuit-open", outcome: "rejected", retryAfterMs: 600, shouldRetry: false },
    message:
      "the circuit of scripted is open, because 2 requests in a row failed; nothing was sent; one is tried again in 600 ms",
    cause: undefined,
  });
});

test("a test request that fails opens the circuit again, and other requests do not wait for it", async () => {
  const { call, will, asked } = scene();
  will(fail(down));
  await call();
  await call();
  vi.setSystemTime(Date.now() + 1_000);
  const probe = Promise.withResolvers<undefined>();
  will(() => probe.promise);
  const testing = call();
  expect(await call()).toBe("circuit-open");
  probe.reject(down);
  expect([await testing, await call(), asked()]).toEqual(["server-error", "circuit-open", 3]);
});

test("failures that say nothing of the endpoint's health are not counted, and do not reset the count", async () => {
  const { call, will } = scene();
  will(fail(down));
  await call();
  will(fail(invalid));
  expect([await call(), await call(), await call()]).toEqual(Array(3).fill("invalid-request"));
  will(fail(new TypeError("fetch failed")));
  expect([await call(), await call()]).toEqual(["TypeError: fetch failed", "circuit-open"]);
});

test("a request that its caller gave up is no failure, and as a test it decides nothing", async () => {
  const { call, will, states } = scene({ failures: 1 });
  const abort = new AbortController();
  const given = fail(new ProviderError("aborted", { kind: "aborted", outcome: "unknown" }));
  will(async () => {
    abort.abort();
    await given();
  });
  expect([await call(abort.signal), states]).toEqual(["aborted", []]);
  will(fail(down));
  await call();
  vi.setSystemTime(Date.now() + 1_000);
  const second = new AbortController();
  will(async () => {
    second.abort();
    await given();
  });
  expect(await call(second.signal)).toBe("aborted");
  expect(await call()).toBe("circuit-open");
  vi.setSystemTime(Date.now() + 1_000);
  will(async () => undefined);
  expect(await call()).toBe("ok");
  expect(states).toEqual(["open", "half-open", "open", "half-open", "closed"]);
});

test("a callback that throws is reported, and harms no request", async () => {
  const warnings: string[] = [];
  const warn = vi.spyOn(process, "emitWarning").mockImplementation((warning) => void warnings.push(String(warning)));
  const { call, will } = scene({
    failures: 1,
    onState: () => {
      throw new Error("no sink");
    },
  });
  will(fail(down));
  expect(await call()).toBe("server-error");
  expect(warnings).toEqual(["circuitBreaker: onState failed: no sink"]);
  warn.mockRestore();
});
