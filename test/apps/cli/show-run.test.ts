import { expect, test } from "vitest";
import { createRunScreen } from "../../../src/apps/cli/asking/show-run.ts";
import { createStyle } from "../../../src/apps/cli/screen.ts";
import type { RunResult } from "../../../src/engine/options/result.ts";
import type { RunPart } from "../../../src/engine/options/run-part.ts";

/** What is on the screen after these parts: the answer as it is, and notes in brackets. */
function shownOf(parts: readonly Partial<RunPart>[], text: string | null): string {
  let shown = "";
  const screen = createRunScreen({
    write: (piece) => {
      shown += piece;
    },
    note: (line) => {
      shown += `[${line}]\n`;
    },
    style: createStyle(false),
  });
  // Only what the screen looks at.
  for (const part of parts) screen.show(part as RunPart);
  screen.end(text === null ? null : ({ text } as RunResult));
  return shown;
}

const request = { type: "request-start" } as const;
const says = (text: string, outputIndex = 0) => ({ type: "text-delta", text, outputIndex }) as const;
const discarded = (retryInMs: number) => ({ type: "attempt-discarded", reason: "rate-limited", retryInMs }) as const;

test("an answer that came in pieces is not written again", () => {
  expect(shownOf([request, says("Hel"), says("lo.")], "Hello.")).toBe("Hello.\n");
  expect(shownOf([request, says("One."), says("Two.", 1)], "One.\n\nTwo.")).toBe("One.\nTwo.\n");
});

test("an answer that came whole, or that layers changed, is written at the end", () => {
  expect(shownOf([request], "Hello.")).toBe("Hello.\n");
  expect(shownOf([request, says("Hello [NAME].")], "Hello Ann.")).toBe(
    "Hello [NAME].\n[the whole answer, as the layers returned it:]\nHello Ann.\n",
  );
});

test("pieces that were discarded are marked once the model is asked again, and a long pause is announced", () => {
  expect(shownOf([request, says("Hel"), discarded(0), request, says("Hello.")], "Hello.")).toBe(
    "Hel\n[the answer above does not count (rate-limited): asked again]\nHello.\n",
  );
  expect(shownOf([request, discarded(12_300), request, says("Hello.")], "Hello.")).toBe(
    "[rate-limited: asked again in 13 s]\nHello.\n",
  );
  expect(shownOf([request, says("Hel"), discarded(0)], null)).toBe("Hel\n");
});
