import fc from "fast-check";
import { expect, test } from "vitest";
import type { ToolState, UiChunk } from "../../../src/apps/web/ui-chunk.ts";
import { messageOf } from "../../../src/apps/web/ui-messages.ts";
import type { UiAnswer, UiPart, UiStep } from "../../../src/apps/web/ui-steps.ts";
import { UiStream } from "../../../src/apps/web/ui-stream.ts";
import { cases, firstSeed, isTelling } from "../../support/cases.ts";
import { plain, readChunks } from "../../support/web/read-chunks.ts";

const id = "blk_question_0000001.answer";
const text = (said: string, isOpen = false): UiPart => ({ kind: "text", text: said, isOpen });
const input = (city: string): ToolState => ({
  ...{ type: "tool-input-available", toolCallId: "call_1", toolName: "weather", input: { city }, dynamic: true },
});
const call = (...states: readonly ToolState[]): UiPart => ({
  ...{ kind: "tool", id: "call_1", name: "weather", arriving: null, states },
});
const output: ToolState = { type: "tool-output-available", toolCallId: "call_1", output: "7 degrees" };

const shown = (answers: readonly UiAnswer[], known: readonly UiStep[] = []): readonly UiChunk[] => {
  const stream = new UiStream(known);
  return answers.flatMap((answer, index) => stream.show(answer, index === answers.length - 1));
};
const answer = (...steps: readonly UiStep[]): UiAnswer => ({ id, steps });
const typesOf = (chunks: readonly UiChunk[]): readonly string[] => chunks.map(({ type }) => type);

test("text that arrives is sent once, piece by piece", () => {
  const chunks = shown([answer([text("Par", true)]), answer([text("Paris", true)]), answer([text("Paris.")])]);
  expect(chunks.flatMap((chunk) => (chunk.type === "text-delta" ? [chunk.delta] : []))).toEqual(["Par", "is", "."]);
  expect(typesOf(chunks).filter((type) => type === "text-start" || type === "text-end")).toHaveLength(2);
});

test("an attempt that was discarded is taken back with reset-step, and the step is used again", async () => {
  const chunks = shown([answer([text("Lon", true)]), answer(), answer([text("Paris.")])]);
  expect(typesOf(chunks)).toEqual(
    "start start-step text-start text-delta reset-step text-start text-delta text-end finish-step".split(" "),
  );
  expect(await readChunks(chunks)).toEqual(plain(messageOf({ kind: "answer", ...answer([text("Paris.")]) })));
});

test("a result changes its call in place, also behind later text", async () => {
  const later = answer([call(input("Paris"), output)], [text("7 degrees.")]);
  const chunks = shown([answer([call(input("Paris"))], [text("7 degrees.")]), later]);
  expect(typesOf(chunks)).not.toContain("reset-step");
  expect(await readChunks(chunks)).toEqual(plain(messageOf({ kind: "answer", ...later })));
});

test("arguments that arrive become the call, without a second part", async () => {
  const arriving: UiPart = { kind: "tool", id: "call_1", name: "weather", arriving: '{"city":"Pa', states: [] };
  const chunks = shown([answer([arriving]), answer([call(input("Paris"), output)])]);
  expect(typesOf(chunks)).toContain("tool-input-delta");
  expect(await readChunks(chunks)).toEqual(
    plain(messageOf({ kind: "answer", ...answer([call(input("Paris"), output)]) })),
  );
});

test("a page that waits for a decision gets the rest of the same message", async () => {
  const request: ToolState = {
    type: "tool-approval-request",
    approvalId: "a1",
    toolCallId: "call_1",
    reason: "checked",
  };
  const response: ToolState = { type: "tool-approval-response", approvalId: "a1", approved: true };
  const before = answer([call(input("Paris"), request)]);
  const after = answer([call(input("Paris"), request, response, output)], [text("7 degrees.")]);
  const page = plain(messageOf({ kind: "answer", ...before }));
  expect(await readChunks(shown([after], before.steps), page ?? undefined)).toEqual(
    plain(messageOf({ kind: "answer", ...after })),
  );
});

test("a page is told to load the answer again if an earlier step has changed", () => {
  const chunks = shown([answer([text("one")], [text("two")]), answer([text("other")], [text("two")])]);
  expect(chunks.at(-1)).toEqual({ type: "data-turn-changed", data: { messageId: id }, transient: true });
});

const word = fc.string({ maxLength: 8 });
const stateOf = (toolCallId: string): fc.Arbitrary<readonly ToolState[]> =>
  fc
    .record({
      input: word,
      asked: fc.boolean(),
      approved: fc.option(fc.boolean()),
      edited: fc.option(word),
      ended: fc.nat(4),
      said: word,
    })
    .map(({ input: city, asked, approved, edited, ended, said }) => {
      const called = (value: string) =>
        ({ toolCallId, toolName: "weather", input: { city: value }, dynamic: true }) as const;
      const given = (value: string): ToolState => ({ type: "tool-input-available", ...called(value) });
      const approvalId = `${toolCallId}#${city}`;
      const decided: readonly ToolState[] =
        approved === null
          ? []
          : [...(edited === null ? [] : [given(edited)]), { type: "tool-approval-response", approvalId, approved }];
      const lastInput = asked && approved !== null && edited !== null ? edited : city;
      const outputs: readonly (readonly ToolState[])[] = [
        [],
        [{ type: "tool-output-available", toolCallId, output: said }],
        [{ type: "tool-output-error", toolCallId, errorText: said }],
        [{ type: "tool-output-denied", toolCallId }],
        [{ type: "tool-input-error", ...called(lastInput), errorText: said }],
      ];
      const question: readonly ToolState[] = asked
        ? [{ type: "tool-approval-request", approvalId, toolCallId, reason: said }, ...decided]
        : [];
      return [given(city), ...question, ...(outputs[ended] ?? [])];
    });

const partAt = (step: number, at: number): fc.Arbitrary<UiPart> => {
  const toolId = `call_${step}_${at}`;
  return fc.oneof(
    fc.record({ kind: fc.constantFrom("text" as const, "reasoning" as const), text: word, isOpen: fc.boolean() }),
    fc.record({ states: stateOf(toolId), arriving: fc.option(word) }).map(
      ({ states, arriving }): UiPart => ({
        kind: "tool",
        id: toolId,
        name: "weather",
        arriving,
        states: arriving === null ? states : [],
      }),
    ),
    word.map((url): UiPart => ({ kind: "whole", chunk: { type: "file", mediaType: "image/png", url } })),
  );
};

const stepAt = (step: number): fc.Arbitrary<UiStep> =>
  fc
    .tuple(partAt(step, 0), fc.option(partAt(step, 1)), fc.option(partAt(step, 2)))
    .map((parts) => parts.filter((part) => part !== null));

/** How an answer changes, by what the parts of a run do to it, and by what they should not. */
const change = fc.oneof(
  { weight: 4, arbitrary: fc.record({ how: fc.constant("more" as const), said: word }) },
  {
    weight: 3,
    arbitrary: fc.record({ how: fc.constant("step" as const), steps: fc.tuple(...[0, 1, 2, 3, 4, 5].map(stepAt)) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ how: fc.constant("redo" as const), steps: fc.tuple(...[0, 1, 2, 3, 4, 5].map(stepAt)) }),
  },
  { weight: 1, arbitrary: fc.record({ how: fc.constant("drop" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      how: fc.constant("any" as const),
      at: fc.nat(5),
      steps: fc.tuple(...[0, 1, 2, 3, 4, 5].map(stepAt)),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      how: fc.constant("call" as const),
      at: fc.nat(5),
      states: fc.tuple(...[0, 1, 2, 3, 4, 5].map((step) => stateOf(`call_${step}_0`))),
    }),
  },
);

type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never;

function changed(steps: readonly UiStep[], made: Change): readonly UiStep[] {
  const last = steps.length - 1;
  switch (made.how) {
    case "more":
      return steps.map((step, index) =>
        index < last
          ? step
          : step.map((part) => ("text" in part && part.isOpen ? { ...part, text: part.text + made.said } : part)),
      );
    case "step":
      // Only the last step arrives.
      return [...ended(steps), ...made.steps.slice(steps.length, steps.length + 1)];
    case "redo":
      return steps.length === 0 ? steps : [...steps.slice(0, -1), ...made.steps.slice(last, last + 1)];
    case "drop":
      return steps.slice(0, -1);
    case "any":
      return [
        ...ended(steps.map((step, index) => (index === made.at ? (made.steps[index] ?? step) : step)).slice(0, -1)),
        ...steps.slice(-1),
      ];
    default:
      return steps.map((step, index) =>
        step.map((part, at) =>
          index === made.at && at === 0 && part.kind === "tool" && part.arriving === null
            ? { ...part, states: made.states[index] ?? part.states }
            : part,
        ),
      );
  }
}

/** What arrives has arrived, or is gone. */
const ended = (steps: readonly UiStep[]): readonly UiStep[] =>
  steps.map((step) =>
    step.map((part) => {
      if (part.kind === "whole") return part;
      if (part.kind !== "tool") return { ...part, isOpen: false };
      return part.arriving === null
        ? part
        : { ...part, arriving: null, states: [{ ...input("Ghent"), toolCallId: part.id }] };
    }),
  );

test("a page that saw an answer change shows what one shows that sees it whole, or is told to load it again", async () => {
  const seen = { lost: 0, reset: 0, kept: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 3, maxLength: 14 }), async (changes) => {
      const answers: UiAnswer[] = [answer()];
      for (const each of changes) answers.push(answer(...changed(answers.at(-1)?.steps ?? [], each)));
      const last = answer(...ended(answers.at(-1)?.steps ?? []));
      const chunks = shown([...answers, last]);
      const isLost = typesOf(chunks).includes("data-turn-changed");
      if (typesOf(chunks).includes("reset-step")) seen.reset += 1;
      if (isLost) {
        seen.lost += 1;
        // Only a change of an earlier step can be lost: what did not change one is always shown.
        expect(changes.some(({ how }) => how === "any" || how === "call" || how === "drop" || how === "redo")).toBe(
          true,
        );
      } else {
        seen.kept += 1;
        expect(await readChunks(chunks)).toEqual(plain(messageOf({ kind: "answer", ...last })));
      }
      // A replay loses nothing.
      expect(await readChunks(shown([last]))).toEqual(plain(messageOf({ kind: "answer", ...last })));
    }),
    { numRuns: cases(60, 20_000, 600), seed: firstSeed },
  );
  if (isTelling) expect(Math.min(seen.lost, seen.reset, seen.kept)).toBeGreaterThan(5);
});
