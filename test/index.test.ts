import { expect, test } from "vitest";
import { codecMistakes } from "./support/mistakes/codecs.ts";
import { conversationMistakes, revisionMistakes } from "./support/mistakes/conversations.ts";
import { engineMistakes } from "./support/mistakes/engines.ts";
import { contextMistakes } from "./support/mistakes/layers.ts";
import { partMistakes } from "./support/mistakes/parts.ts";
import { storeMistakes } from "./support/mistakes/stores.ts";

const mistakes = [
  ...engineMistakes,
  ...partMistakes,
  ...conversationMistakes,
  ...revisionMistakes,
  ...contextMistakes,
  ...storeMistakes,
  ...codecMistakes,
];

test.each(mistakes)("the error about %s is one sentence", async (_called, mistake, says) => {
  const told: unknown = await (async () => mistake())().then(
    () => "nothing",
    (error: unknown) => (error instanceof Error ? error.message : error),
  );
  expect(told).toBe(says);
});

test("every sentence is one line that says what to do", () => {
  expect(mistakes.length).toBeGreaterThanOrEqual(150);
  expect(new Set(mistakes.map(([called]) => called)).size).toBe(mistakes.length);
  for (const [called, , says] of mistakes) {
    expect(says, called).toMatch(/^[^\n]{20,300}$/);
    expect(says, called).not.toMatch(/is not a function|of undefined|of null|undefined is not|\[object/);
  }
});
