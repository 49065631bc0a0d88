import { expect, test } from "vitest";
import { createEngine, type EngineConfig } from "../../../src/engine/options/create-engine.ts";
import { engineOf } from "../../../src/engine/options/engine.ts";
import type { Provider } from "../../../src/engine/ports/provider.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createWorkshop, eventsOf, rejectionOf } from "../../support/workshop.ts";

/** What its type does not allow, as JavaScript may give it. */
const given = (provider: unknown) => ({ provider }) as EngineConfig;

test.each<[unknown, string]>([
  [{}, "name, scope, codec, capabilities, transport, settings, infer"],
  [{ ...scripted([]), infer: undefined }, "infer"],
  [{ ...scripted([]), capabilities: null }, "capabilities"],
])("createEngine rejects an invalid provider (%#)", (provider, lacking) => {
  const create = (): unknown => createEngine(given(provider));
  expect(create).toThrow(TypeError);
  expect(create).toThrow(`createEngine: provider is not a provider, it lacks ${lacking}: `);
});

test("a provider may be an object of a class", () => {
  class Mine implements Provider {
    readonly #inner = scripted([]);
    readonly name = "mine";
    readonly transport = "json";
    readonly settings = {};
    readonly scope = this.#inner.scope;
    readonly codec = this.#inner.codec;
    readonly capabilities = this.#inner.capabilities;
    infer(...request: Parameters<Provider["infer"]>): ReturnType<Provider["infer"]> {
      return this.#inner.infer(...request);
    }
  }
  expect(() => createEngine({ provider: new Mine() })).not.toThrow();
});

test("an error that keeps a run from beginning is passed on unchanged, and nothing is written", async () => {
  const { conversation, ...workshop } = createWorkshop();
  await conversation.append("hello");
  const before = await eventsOf(conversation);
  const bug = new TypeError("my provider's bug");
  const provider = {
    ...scripted([]),
    get settings(): never {
      throw bug;
    },
  };
  const { options } = workshop.engine({ provider: scripted(["an answer"]) });
  expect(await rejectionOf(conversation.run(engineOf({ ...options, provider })))).toBe(bug);
  expect(await eventsOf(conversation)).toEqual(before);
  expect(await conversation.run(engineOf(options))).toMatchObject({ status: "completed", text: "an answer" });
});
