import { join } from "node:path";
import { expect, test } from "vitest";
import { bodyRows } from "../../../src/apps/studio/body-rows.ts";
import { LabReport } from "../../../src/apps/studio/lab-report.ts";
import { studioOver } from "../../../src/apps/studio/studio.ts";
import { WhatIf } from "../../../src/apps/studio/what-if.ts";
import type { ReportDocument, WhatIfDocument, WhatIfStepDocument } from "../../../src/apps/studio/what-if-documents.ts";
import { documentOf, turnlogHere } from "../../support/cli/command.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import { newestId } from "../../support/studio/browser.ts";
import { reportText } from "../../support/studio/report-text.ts";
import { stackIn } from "../../support/studio/stack-in.ts";
import { documentAt, statusAt, studioHere } from "../../support/studio/studio-here.ts";

const demoStore = useDemoStore();

const file = join(import.meta.dirname, "../../support/cli/demo-stack.ts");

async function openWhatIf() {
  const folder = demoStore();
  const here = await studioHere(`sqlite:${folder.file("turnlog.db")}`);
  const stack = await stackIn(file);
  const whatIf = new WhatIf(here.store.events, { stack, other: stack });
  const studio = studioOver({ store: here.store, access: () => true }, { whatIf });
  const id = await newestId(here.store);
  /** What a path answers once the runs were made again. */
  const made = async (path: string): Promise<WhatIfDocument> => {
    for (;;) {
      const document = await documentAt<WhatIfDocument>(studio, `/api/c/${id}/what-if${path}`);
      if (document.running === null) return document;
      // Lets the runs have their turn.
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const printed = async (...words: readonly string[]): Promise<unknown> =>
    (
      documentOf(await turnlogHere(["replay", id, ...words, "--json"], { cwd: folder.path })) as {
        readonly data: unknown;
      }
    ).data;
  return { ...here, studio, id, made, printed };
}

test("what would have been equals what replay --without, --with and --body print as --json", async () => {
  await using here = await openWhatIf();
  const { made, printed, studio, id } = here;
  const { result } = await made("?without=shorten-results");
  expect(result).toEqual(await printed("--without", "shorten-results", "--stack", file));
  expect((await made("?without=")).result).toEqual(await printed("--with", file));
  const place = result?.firstDifference ?? -1;
  const { rows, first, recorded, otherwise } = await documentAt<WhatIfStepDocument>(
    studio,
    `/api/c/${id}/what-if/${place}?without=shorten-results`,
  );
  expect([recorded, otherwise]).toEqual([
    { revision: result?.steps[place]?.recorded?.revision, bytes: result?.steps[place]?.recorded?.bytes },
    { bytes: result?.steps[place]?.otherwise?.bytes },
  ]);
  const firstRow = rows[first ?? -1];
  const body = (await printed(...["--without", "shorten-results", "--stack", file, "--body", String(place + 1)])) as {
    readonly bodyText: string;
  };
  const lines = JSON.stringify(JSON.parse(body.bodyText), null, 2).split("\n");
  expect(firstRow?.kind === "changed" ? lines.includes(firstRow.right ?? "") : false).toBe(true);
});

test("a layer that there is not, a step that there is not, and a studio without a stack are refused with a reason", async () => {
  await using here = await openWhatIf();
  const { studio, id, made } = here;
  await made("?without=ask-first");
  expect(await statusAt(studio, `/api/c/${id}/what-if/99?without=ask-first`)).toBe(404);
  await expect
    .poll(() => documentAt(studio, `/api/c/${id}/what-if?without=none`))
    .toMatchObject({ error: { code: "layer-not-found" } });
  expect(await documentAt(here.studio, `/api/c/${id}/what-if/x?without=ask-first`)).toMatchObject({
    error: { code: "input" },
  });
  const plain = studioOver({ store: here.store, access: () => true }, {});
  expect(await documentAt(plain, `/api/c/${id}/what-if?without=ask-first`)).toMatchObject({
    error: { code: "no-stack" },
  });
  expect(await statusAt(plain, "/api/report")).toBe(404);
});

test("two bodies are beside each other line by line, and what is the same folds", () => {
  const body = (text: string): string => JSON.stringify({ a: 1, b: 2, c: 3, d: 4, e: 5, f: text });
  const { rows, first, hasMore } = bodyRows(body("old"), body("new"));
  expect([first, hasMore]).toEqual([4, false]);
  expect(rows).toEqual([
    { kind: "fold", lines: 3 },
    ...['  "c": 3,', '  "d": 4,', '  "e": 5,'].map((line) => ({ kind: "same", left: line, right: line })),
    { kind: "changed", left: '  "f": "old"', right: '  "f": "new"' },
    { kind: "same", left: "}", right: "}" },
  ]);
  expect(bodyRows(body("same"), body("same"))).toEqual({
    rows: [{ kind: "fold", lines: 8 }],
    first: null,
    hasMore: false,
  });
  expect(bodyRows(null, "{}").rows).toEqual([{ kind: "changed", left: null, right: "{}" }]);
});

test("a report of regress is read to its end, and another file, a cut one or a changed one is refused", () => {
  const text = reportText("cnv_1", 24);
  const report = LabReport.of("r.jsonl", text);
  const page: ReportDocument = report.page({ from: 0, n: 20 });
  expect([page.total, page.summary.changed, page.conversations[0]?.differences[0]?.revision]).toEqual([1, 1, 24]);
  expect(report.page({ from: 1, n: 20 }).conversations).toEqual([]);
  const cut = text.split("\n").slice(0, 2).join("\n");
  for (const bad of ["", "notes", cut, text.replace('"requests":8', '"requests":"8"')])
    expect(() => LabReport.of("r.jsonl", bad)).toThrow(/^r\.jsonl (is not a report|cannot be read to its end)/);
});
