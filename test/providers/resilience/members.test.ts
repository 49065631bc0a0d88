import { expect, test } from "vitest";
import type { InferenceRequest, InferenceResponse, Provider } from "../../../src/engine/ports/provider.ts";
import { circuitBreaker } from "../../../src/providers/resilience/circuit-breaker.ts";
import { rateLimit } from "../../../src/providers/resilience/rate-limit.ts";
import { timeout } from "../../../src/providers/resilience/timeout.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { rehearsalProviders } from "../../../src/testing/rehearsal/ports.ts";
import { rehearsedProviders } from "../../../src/testing/rehearsal/rehearsed-providers.ts";

const limiter = { consume: async () => null };

const wrappers = {
  circuitBreaker: (provider: Provider) => circuitBreaker(provider),
  timeout: (provider: Provider) => timeout(provider, { timeoutMs: 1_000_000 }),
  rateLimit: (provider: Provider) => rateLimit(provider, { limiter }),
} as const;

type Wrapper = keyof typeof wrappers;

/** The names of an object's members, its class's included, but not of those that are undefined. */
function membersOf(object: object): readonly string[] {
  const names = new Set<PropertyKey>();
  for (let from: object | null = object; from !== null && from !== Object.prototype; ) {
    for (const name of Reflect.ownKeys(from)) if (Reflect.get(object, name) !== undefined) names.add(name);
    // A prototype is an object or null.
    from = Object.getPrototypeOf(from) as object | null;
  }
  names.delete("constructor");
  return [...names].map(String).toSorted();
}

const plain = (provider: object): readonly (readonly [string, unknown])[] =>
  membersOf(provider).map((name) => {
    const member: unknown = Reflect.get(provider, name);
    return typeof member === "function" ? [name, "function"] : [name, member];
  });

const kinds = [...rehearsalProviders, "scripted"] as const;
const each = kinds.flatMap((kind) =>
  (["circuitBreaker", "timeout", "rateLimit"] as const).map((wrapper) => [wrapper, kind] as const),
);

const created = (kind: (typeof kinds)[number]): Provider =>
  kind === "scripted" ? scripted([]) : rehearsedProviders[kind].provider("http://127.0.0.1:9/v1", "sse");

test.each(each)("%s around %s has every member of the provider, equal but for functions", (wrapper, kind) => {
  const bare = created(kind);
  const wrapped = wrappers[wrapper](bare);
  // `timeout` gives a limit to a provider that has none.
  const added = wrapper === "timeout" && bare.timeoutMs === undefined ? ["timeoutMs"] : [];
  expect(membersOf(wrapped).filter((name) => !added.includes(name))).toEqual(membersOf(bare));
  expect(plain(wrapped).filter(([name]) => !added.includes(name))).toEqual(plain(bare));
});

/** A provider as a class has it: private state, a getter that changes, methods of the prototype, and every optional member. */
class OwnProvider implements Provider {
  readonly #calls: string[] = [];
  readonly #inner = scripted(["Hello."]);
  readonly name = "own";
  readonly scope = "own scope";
  readonly codec = this.#inner.codec;
  readonly transport = "json";
  readonly settings = { model: "own" };
  readonly timeoutMs = 5_000;
  readonly conversations = {
    create: async () => this.#note("create"),
    addItems: async () => [],
    deleteItem: async () => undefined,
    newestItems: async () => [],
  };
  chain = true;

  get capabilities() {
    return { chain: this.chain };
  }
  get calls(): readonly string[] {
    return this.#calls;
  }
  infer(request: InferenceRequest): Promise<InferenceResponse> {
    this.#note("infer");
    return this.#inner.infer(request);
  }
  async waitFor(): Promise<InferenceResponse> {
    this.#note("waitFor");
    return { response: {} };
  }
  connection() {
    this.#note("connection");
    return { lives: null };
  }
  async connect(): Promise<void> {
    this.#note("connect");
  }
  async cancel(): Promise<void> {
    this.#note("cancel");
  }
  async delete(): Promise<void> {
    this.#note("delete");
  }
  async deleteConversation(): Promise<void> {
    this.#note("deleteConversation");
  }
  async [Symbol.asyncDispose](): Promise<void> {
    this.#note("dispose");
  }
  #note(what: string): string {
    this.#calls.push(what);
    return what;
  }
}

test.each(Object.keys(wrappers) as Wrapper[])(
  "%s calls every function on the provider itself, and reads its getters anew",
  async (wrapper) => {
    const bare = new OwnProvider();
    const wrapped = wrappers[wrapper](bare);
    const { signal } = new AbortController();
    const body = { bodyText: '{"input":[]}', settings: {}, transport: "json", signal, onDelta: () => undefined };
    await wrapped.infer(body);
    await wrapped.waitFor?.("resp_1", { signal, settings: {} });
    wrapped.connection?.("cnv_1", {});
    await wrapped.connect?.("cnv_1", { capabilities: {}, signal });
    await wrapped.cancel?.("resp_1", { signal });
    await wrapped.delete?.("resp_1");
    await wrapped.deleteConversation?.("conv_1");
    await wrapped[Symbol.asyncDispose]?.();
    const called = ["infer", "waitFor", "connection", "connect", "cancel", "delete", "deleteConversation", "dispose"];
    expect(bare.calls).toEqual(called);
    expect(wrapped.capabilities).toEqual({ chain: true });
    bare.chain = false;
    expect(wrapped.capabilities).toEqual({ chain: false });
  },
);

test.each(Object.keys(wrappers) as Wrapper[])("%s refuses what is no provider, by its name", (wrapper) => {
  // A caller may not use types.
  const wrap = (given: unknown) => () => wrappers[wrapper](given as Provider);
  expect(wrap({ name: "nothing" })).toThrow(`${wrapper} takes a provider, not an object: write ${wrapper}(provider,`);
  expect(wrap(undefined)).toThrow(`${wrapper} takes a provider, not undefined`);
});

test("a misspelt option of a wrapper is refused with the nearest one", () => {
  const provider = scripted([]);
  // A caller may not use types.
  const misspelt = (options: object) => options as never;
  expect(() => circuitBreaker(provider, misspelt({ failure: 3 }))).toThrow("did you mean 'failures'?");
  expect(() => timeout(provider, misspelt({ timeout: 3 }))).toThrow("did you mean 'timeoutMs'?");
  expect(() => timeout(provider, misspelt({}))).toThrow("timeoutMs is undefined");
  expect(() => rateLimit(provider, misspelt({ limiter, token: 3 }))).toThrow("did you mean 'tokens'?");
  expect(() => rateLimit(provider, misspelt({ limiter: {} }))).toThrow("rateLimit: limiter is an object");
  expect(() => rateLimit(provider, { limiter, tokens: 5 })).toThrow("has no penalty and no reward");
});
