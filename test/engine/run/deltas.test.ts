import { expect, test, vi } from "vitest";
import type { RunPart } from "../../../src/engine/options/run-part.ts";
import type { DeltaFilter, DeltaRule, ShownItem } from "../../../src/engine/ports/deltas.ts";
import { defineMiddleware, type Layer } from "../../../src/engine/ports/middleware.ts";
import type { Provider } from "../../../src/engine/ports/provider.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { lens } from "../../../src/middleware/lens.ts";
import { type ScriptedAnswer, scripted } from "../../../src/providers/scripted/scripted.ts";
import { drawFrom } from "../../../src/testing/rehearsal/draw.ts";
import { seeds } from "../../support/cases.ts";
import { beforeRequest, counted, createScene, dieAt } from "../../support/run/scene.ts";
import { calling } from "../../support/run/tool-runs.ts";
import { createWorkshop, eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

const showing = (name: string, deltas: DeltaRule): Layer =>
  defineMiddleware({ name, version: "1.0.0", deltas }, (next) => (turn) => next(turn));

/** Replaces `<n>` by the n-th word, also where it is cut into pieces. */
function naming(words: readonly string[]): DeltaFilter {
  let held = "";
  const named = (text: string): string => text.replace(/<(\d)>/g, (name, n: string) => words[Number(n)] ?? name);
  return {
    take(text) {
      held += text;
      const [open = ""] = /<\d?$/.exec(held) ?? [];
      const ready = held.slice(0, held.length - open.length);
      held = open;
      return named(ready);
    },
    end: () => named(held),
  };
}

const textIn = (parts: readonly RunPart[], type: "text-delta" | "reasoning-delta" | "tool-call-delta"): string =>
  parts.map((part) => (part.type === type ? part.text : "")).join("");

const blocksIn = (parts: readonly RunPart[]): readonly string[] =>
  parts.flatMap((part) => (part.type === "block" ? part.block.text : []));

/** The parts of one run, and its log. */
async function watch(answers: readonly ScriptedAnswer[] | Provider, middleware: readonly Layer[]) {
  const { conversation, ...workshop } = createWorkshop({ encoding: "json" });
  const parts: RunPart[] = [];
  const provider = "infer" in answers ? answers : scripted(answers);
  const engine = workshop.engine({ provider, middleware, observers: [{ next: (part) => parts.push(part) }] });
  await conversation.append("My name is Ada.", { key: "one" });
  await conversation.run(engine).catch(() => undefined);
  return { parts, events: await eventsOf(conversation), conversation, engine };
}

test("a layer changes texts while they arrive, holds back what it is not sure of, and shows the rest at the end of the item", async () => {
  const items: ShownItem[] = [];
  const layer = showing("naming", (item, { given }) => {
    items.push(item);
    return naming(["Ada", given.blocks[0]?.text ?? ""]);
  });
  const answer = {
    reasoning: "It is <0>",
    text: "You are called <0>, as you said: <1> 2 <",
    calls: [{ name: "greet", arguments: '{"to":"<0>"}', callId: "c1" }],
  };
  const { parts, events } = await watch([answer], [layer]);
  expect(textIn(parts, "text-delta")).toBe("You are called Ada, as you said: My name is Ada. 2 <");
  expect(textIn(parts, "reasoning-delta")).toBe("It is Ada");
  expect(textIn(parts, "tool-call-delta")).toBe('{"to":"Ada"}');
  expect(parts.filter(({ type }) => type === "text-delta").length).toBeGreaterThan(1);
  expect(items).toContainEqual({ kind: "tool-call", callId: "c1", name: "greet" });
  // A complete block is shown as its deltas were, and recorded as the model said it.
  expect(blocksIn(parts)).toEqual([
    "It is Ada",
    "You are called Ada, as you said: My name is Ada. 2 <",
    '{"to":"Ada"}',
  ]);
  expect(JSON.stringify(events)).toContain("You are called <0>");
  expect(JSON.stringify(events)).not.toContain("called Ada");
});

test("the innermost layer changes a text first", async () => {
  const adding = (mark: string): Layer =>
    showing(`adds-${mark}`, () => ({ take: (text) => `${mark}${text}`, end: () => `${mark}.` }));
  const { parts } = await watch([{ text: "hi" }], [adding("o"), adding("i")]);
  expect(textIn(parts, "text-delta")).toBe("oihioi.o.");
});

test("a layer that changes nothing of an item shows it as it comes, and an item may be hidden whole", async () => {
  const hidden = showing("hidden", ({ kind }) => (kind === "reasoning" ? { take: () => "" } : null));
  const { parts } = await watch([{ reasoning: "hm", text: "an answer" }], [hidden]);
  expect([textIn(parts, "reasoning-delta"), textIn(parts, "text-delta")]).toEqual(["", "an answer"]);
  expect(parts.filter(({ type }) => type === "item-start")).toHaveLength(2);
});

test("nothing that was held back of a discarded attempt is shown, then or later", async () => {
  const whole = scripted(["a <0> b"]);
  let attempts = 0;
  const failing: Provider = {
    ...whole,
    async infer(request) {
      attempts += 1;
      if (attempts > 1) return whole.infer(request);
      request.onDelta({ type: "text-delta", outputIndex: 0, text: "half <" });
      throw new ProviderError("not now", { kind: "rate-limited", outcome: "rejected", status: 429 });
    },
  };
  const { parts } = await watch(failing, [showing("naming", () => naming(["Ada"]))]);
  expect(attempts).toBe(2);
  const at = parts.findIndex(({ type }) => type === "attempt-discarded");
  expect(textIn(parts.slice(0, at), "text-delta")).toBe("half ");
  expect(textIn(parts.slice(at), "text-delta")).toBe("a Ada b");
});

test.each([
  [
    "throws",
    () => ({
      take: () => {
        throw new Error("no luck");
      },
    }),
  ],
  ["gives no text", () => ({ take: () => 7 })],
  ["gives a promise", () => ({ take: async () => Promise.reject(new Error("later")) })],
  ["is no filter", () => 7],
  [
    "cannot be made",
    () => {
      throw new Error("no luck");
    },
  ],
])("a filter that %s shows nothing more of its item, warns, and harms no run", async (what, rule) => {
  const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
  // Callers may not use types.
  const layer = showing(`bad: ${what}`, rule as unknown as DeltaRule);
  const { parts, events } = await watch(["the secret"], [layer]);
  expect(textIn(parts, "text-delta")).toBe("");
  expect(blocksIn(parts)).toEqual([""]);
  expect(parts.at(-1)).toMatchObject({ type: "run-end", result: { text: "the secret" } });
  expect(typesOf(events)).toContain("RunCompleted");
  expect(warn).toHaveBeenCalledTimes(1);
  expect(warn.mock.calls[0]?.[0]).toContain(`deltas of layer bad: ${what} failed`);
  warn.mockRestore();
});

test("deltas of a recorded answer are shown to nobody", async () => {
  const taken: string[] = [];
  const layer = showing("listening", () => ({
    take(text) {
      taken.push(text);
      return text;
    },
  }));
  const look = counted("look-up", true);
  const parts: RunPart[] = [];
  const config = {
    tools: [look.tool],
    middleware: [layer],
    observers: [{ next: (part: RunPart) => parts.push(part) }],
  };
  const scene = createScene([calling(["look-up", "{}"]), "an answer"], config);
  const first = scene.process();
  await first.conversation.append("hello");
  await dieAt(first, beforeRequest(1));
  parts.length = 0;
  taken.length = 0;
  const { conversation, engine } = scene.process();
  await conversation.run(engine);
  expect(textIn(parts, "tool-call-delta")).toBe("");
  expect(textIn(parts, "text-delta")).toBe("an answer");
  // The deltas, and the block.
  expect(taken.join("")).toBe("an answeran answer");
});

test("a lens takes deltas as well", async () => {
  const restoring = lens({
    ...{ name: "names", version: "1.0.0", hide: (block) => block, deltas: () => naming(["Ada"]) },
  });
  const { parts } = await watch(["I am <0>"], [restoring]);
  expect(textIn(parts, "text-delta")).toBe("I am Ada");
});

test("deltas that are no function are refused", async () => {
  // Callers may not use types.
  const deltas = "all" as unknown as DeltaRule;
  expect(await rejectionOf(Promise.resolve().then(() => showing("bad", deltas)))).toBeInstanceOf(TypeError);
});

test("whatever the pieces, the shown text is the whole text changed, and the log is that of a run without", async () => {
  for (const seed of seeds(15, 3_000, 300)) {
    const draw = drawFrom("deltas", seed);
    const piece = (): string => draw.pick(["<0>", "<1>", "<", ">", "0", "<<", "word ", draw.nonce()]);
    const said = (): string => Array.from({ length: 1 + draw.below(12) }, piece).join("");
    const answer = { reasoning: said(), text: said() };
    const words = ["Ada", "Grace"];
    const whole = (text: string): string => text.replace(/<(\d)>/g, (name, n: string) => words[Number(n)] ?? name);
    const layer = showing("naming", () => naming(words));
    const idle = defineMiddleware({ name: "naming", version: "1.0.0" }, (next) => (turn) => next(turn));
    const shown = await watch([answer], [layer]);
    const plain = await watch([answer], [idle]);
    expect(textIn(shown.parts, "text-delta"), `seed ${seed}`).toBe(whole(answer.text));
    expect(textIn(shown.parts, "reasoning-delta"), `seed ${seed}`).toBe(whole(answer.reasoning));
    const facts = (events: typeof shown.events): string =>
      JSON.stringify(
        events.map(({ event, actor, frame, at }) => ({ event, actor, frame, at })),
        (name, value: unknown) => (name === "timings" ? null : value),
      );
    expect(facts(shown.events), `seed ${seed}`).toBe(facts(plain.events));
  }
});
