import { writeFileSync } from "node:fs";
import { expect, onTestFinished, test, vi } from "vitest";
import { compareInThreads } from "../../../src/apps/cli/regress/thread-pool.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

/** Compares one conversation with the stack of a module, which is loaded in a thread. */
async function compareWith(text: string): Promise<void> {
  const { file } = temporaryFolder();
  const module = file("stack.mjs");
  writeFileSync(module, text);
  const task = {
    ...{ store: "memory:", bundle: null, config: null, with: module, compareWith: null, without: null },
    ...{ recordedPolicies: false, prices: null, priceAs: null, isOtherWorld: false },
  };
  const pool = { task, jobs: 1, signal: new AbortController().signal, onPrinted: () => undefined };
  for await (const { conversation } of compareInThreads(["cnv_a"], pool))
    throw new Error(`${conversation} was compared`);
}

/** Resolves once a module says that it is being loaded. */
function loading(): { readonly name: string; readonly begun: Promise<unknown> } {
  const name = `turnlog ${crypto.randomUUID()}`;
  const channel = new BroadcastChannel(name);
  onTestFinished(() => channel.close());
  const begun = new Promise((resolve) => {
    channel.onmessage = resolve;
  });
  return { name, begun };
}

test.each([
  ["an endless loop", "for (;;);"],
  ["a top-level await that never settles while something keeps the thread", "await new Promise(() => undefined);"],
])("refuses a module that has not loaded after a minute because of %s, and ends its thread", async (_, text) => {
  onTestFinished(() => void vi.useRealTimers());
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { name, begun } = loading();
  let isRefused = false;
  const compared = compareWith(`new BroadcastChannel(${JSON.stringify(name)}).postMessage("");\n${text}`);
  compared.catch(() => {
    isRefused = true;
  });
  await begun;
  await vi.advanceTimersByTimeAsync(59_999);
  expect(isRefused).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  const message = expect.stringMatching(/stack\.mjs did not load within 60 s: look for an endless loop/) as unknown;
  await expect(compared).rejects.toMatchObject({ code: "usage", message });
});

test.each([
  ["throws", 'throw new Error("no database");', /stack\.mjs cannot be loaded: no database/],
  [
    "exports a function that throws",
    'export const engine = () => { throw new Error("no database"); };',
    /the function that makes the engine of .*stack\.mjs failed: no database/,
  ],
  [
    "throws where nothing catches it",
    'await new Promise(() => setTimeout(() => { throw new Error("no database"); }));',
    /stack\.mjs threw outside of its layers, where nothing catches it: no database/,
  ],
])("refuses a module that %s, and says why", async (_, text, why) => {
  const message = expect.stringMatching(why) as unknown;
  await expect(compareWith(text)).rejects.toMatchObject({ code: "usage", message });
});

test("refuses a module at once in which a top-level await is left with nothing that could settle it", async () => {
  const message = expect.stringMatching(/stack\.mjs never finishes loading: a top-level await/) as unknown;
  await expect(compareWith("await new Promise(() => undefined);")).rejects.toMatchObject({ code: "usage", message });
});
