import { expect, test } from "vitest";
import { fitting, jsonBytes } from "../../../src/apps/studio/by-bytes.ts";
import type { DiffPage } from "../../../src/apps/studio/page-documents.ts";
import { user } from "../../../src/domain/make-block.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { studioHere } from "../../support/studio/studio-here.ts";

/** Long texts of characters with three bytes each, which differ in many places. */
const text = (n: number, words: number): string =>
  Array.from({ length: words }, (_, word) => `語${word % 7 === n % 7 ? n : ""}の本`).join(" ");

/** A layer that changes every block of the Turn. */
const changes = (name: string) =>
  defineMiddleware({ name, version: "1.0.0" }, (next) => (turn) => {
    const said = turn.blocks.filter(({ kind }) => kind === "user");
    return next(turn.replaceEach(said, (block) => block.withText(block.text.replaceAll("の本", `の${name}`))));
  });

test("no view of a conversation with long texts gets more than 100 kB at once, and pages reach all of it", async () => {
  await using here = await studioHere("memory:");
  const conversation = here.store.conversation("cnv_long");
  const messages = Array.from({ length: 204 }, (_, n) => user(text(n, n < 24 ? 900 : 50)));
  await conversation.append(messages);
  const middleware = ["本", "書", "冊"].map(changes);
  await conversation.run(createEngine({ provider: scripted(["Read."]), middleware }));
  const last = ((await conversation.head())?.revision ?? 0) - 1;
  const get = async (path: string): Promise<unknown> => {
    const answer = await here.studio.fetch(new Request(`http://studio/api/c/cnv_long${path}`));
    const body = await answer.text();
    expect(answer.status, body.slice(0, 200)).toBe(200);
    expect(Buffer.byteLength(body), path).toBeLessThanOrEqual(100_000);
    return JSON.parse(body) as unknown;
  };
  /** How many rows all pages of a list bring, each beginning after those of the one before. */
  const all = async (path: (from: number) => string, list: "blocks" | "rows" | "lines") => {
    for (let rows = 0; ; ) {
      // The caller names the list of the document that the route answers with.
      const page = (await get(path(rows))) as { readonly total: number } & Record<typeof list, readonly unknown[]>;
      const { total, [list]: brought } = page;
      rows += brought.length;
      if (rows >= total || brought.length === 0) return { rows, total };
    }
  };
  const blamed = await all((from) => `/blame/${last}?from=${from}&n=60`, "blocks");
  expect(blamed).toEqual({ rows: 205, total: 205 });
  const stacked = await all((from) => `/stack/${last}?from=${from}&n=60`, "rows");
  expect(stacked.rows).toBe(stacked.total);
  expect(stacked.total).toBeGreaterThanOrEqual(204);
  const sent = await all((from) => `/body/${last}?from=${from}&n=400`, "lines");
  expect(sent.rows).toBe(sent.total);
  const logged = await all((from) => `/log?from=${from}&n=200`, "rows");
  expect(logged.rows).toBe(logged.total);
  const { changes: differ, texts } = (await get(`/diff?base=0&to=${last}&texts=1`)) as DiffPage;
  expect(differ).toBeGreaterThanOrEqual(204);
  expect(texts.length).toBeGreaterThan(0);
  for (const path of ["", `/time/${last}`, `/why/${last}?from=0&n=40`, "/groups?from=0", "/requests?from=0"])
    await get(path);
  const block = (await conversation.turn()).at(0)?.id ?? "";
  await get(`/block/${block}`);
});

test("a page has as many rows as fit, and at least one", () => {
  expect(fitting(["a", "bb", "ccc"], 9)).toEqual(["a", "bb"]);
  expect(fitting(["a long row"], 3)).toEqual(["a long row"]);
  expect(fitting([], 3)).toEqual([]);
  expect(jsonBytes("語")).toBe(5);
});
