import { expect, test } from "vitest";
import { differenceByContent } from "../../../src/analysis/time-travel/turn-changes.ts";
import { numberIn } from "../../../src/apps/cli/option-values.ts";
import { createProgress, progressAfterMs } from "../../../src/apps/cli/progress.ts";
import { createStyle, tableLines, widthOf } from "../../../src/apps/cli/screen.ts";
import { blockIdSchema } from "../../../src/domain/ids.ts";
import { user } from "../../../src/domain/make-block.ts";
import { Turn } from "../../../src/domain/turn.ts";

test("aligns columns, and cuts the last one at the edge", () => {
  const rows = [
    ["a", "bcd", "a text that is too long"],
    ["ab", "c", "short"],
  ];
  expect(tableLines(rows, { columns: 20 })).toEqual(["a   bcd  a text tha…", "ab  c    short"]);
});

test("styles a cell after its width is known", () => {
  const style = (text: string): string => `<${text}>`;
  expect(
    tableLines(
      [
        [{ text: "a", style }, "b"],
        ["abc", "d"],
      ],
      { columns: 80 },
    ),
  ).toEqual(["<a  >  b", "abc  d"]);
});

test("counts wide letters twice and combining marks not at all", () => {
  expect(["abc", "日本", "e\u0301", "🚆"].map(widthOf)).toEqual([3, 4, 1, 2]);
});

test("draws no bar for what is done within half a second, and takes it away at the end", () => {
  const clock = { now: 0 };
  const written: string[] = [];
  const progress = createProgress({ label: "reading", write: (text) => written.push(text), now: () => clock.now });
  clock.now = progressAfterMs - 1;
  progress.update(1, 4);
  expect(written).toEqual([]);
  clock.now = progressAfterMs;
  progress.update(2, 4);
  clock.now += 50;
  progress.update(3, 4);
  progress.end();
  expect(written.map((text) => text.replace("\u001b", "ESC"))).toEqual([
    "\rESC[Kreading [###############               ] 2/4",
    "\rESC[K",
  ]);
});

test("takes nothing away where no bar was drawn", () => {
  const written: string[] = [];
  createProgress({ label: "reading", write: (text) => written.push(text), now: () => 0 }).end();
  expect(written).toEqual([]);
});

test("colours only where there is somebody to see it", () => {
  expect(createStyle(true).bad("x")).toBe("\u001b[31mx\u001b[0m");
  expect(createStyle(false).bad("x")).toBe("x");
});

test("reads numbers, and refuses what is none", () => {
  const rate = numberIn({ least: 0, most: 1, isWhole: false });
  expect(rate("0.5")).toBe(0.5);
  expect(() => rate("2")).toThrow("Expected a number from 0 to 1.");
  for (const text of ["", "x", "-1", "1.5", "1e99"])
    expect(() => numberIn({ least: 0 })(text)).toThrow("Expected a whole number of at least 0.");
});

test("compares Turns of two conversations by content, since their blocks share no ids", () => {
  const turn = (prefix: string, ...texts: readonly string[]): Turn =>
    Turn.of(
      texts.map((text, index) =>
        user(text).withId(blockIdSchema.parse(`blk_${prefix}${String(index).padStart(16, "0")}`)),
      ),
    );
  const { added, removed, modified, moved } = differenceByContent(
    turn("a", "one", "two", "two"),
    turn("b", "one", "two", "three"),
  );
  expect([added, removed, modified, moved].map((blocks) => blocks.length)).toEqual([1, 1, 0, 0]);
  expect([added[0]?.text, removed[0]?.text]).toEqual(["three", "two"]);
});
