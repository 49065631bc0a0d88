import { expect, test } from "vitest";
import type { WhyDocument } from "../../../src/apps/documents/requests.ts";
import { cases, firstSeed } from "../../support/cases.ts";
import { documentOf, turnlogHere } from "../../support/cli/command.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import { studioHere } from "../../support/studio/studio-here.ts";

const demoStore = useDemoStore();

/** Revisions in no order, so that folds have to move both ways. */
const drawn = (events: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, n) => ((n + firstSeed) * 7_919 + n * n * 104_729) % events);

test("every route answers what its command prints as --json, at any revision and in any order", async () => {
  const folder = demoStore();
  const { stdout } = await turnlogHere(["ls", "--json"], { cwd: folder.path });
  const id = /cnv_[\w-]+/.exec(stdout)?.[0] ?? "";
  await using here = await studioHere(`sqlite:${folder.file("turnlog.db")}`);
  const printed = async (...words: readonly string[]): Promise<unknown> => {
    const document = documentOf(await turnlogHere([...words, "--json"], { cwd: folder.path }));
    return (document as { readonly data: unknown }).data;
  };
  const told = async (path: string): Promise<unknown> => here.get(`/api/c/${id}${path}`);
  for (const revision of drawn(66, cases(12, 200, 40))) {
    const place = `${id}@${revision}`;
    expect(await told(`/show/${revision}`), `show ${place}`).toEqual(await printed("show", place));
    expect(await told(`/blame/${revision}`), `blame ${place}`).toEqual(await printed("blame", place));
    expect(await told(`/cat/${revision}`), `cat ${place}`).toEqual(await printed("cat", place));
    const before = Math.max(0, revision - 1);
    const range = `${id}@${before}..${revision}`;
    expect(await told(`/diff?to=${revision}`), `diff ${range}`).toEqual(await printed("diff", range));
    const { request } = await here.get<{ readonly request: { readonly revision: number } | null }>(
      `/api/c/${id}/stack/${revision}`,
    );
    if (request === null) continue;
    const sent = `${id}@${request.revision}`;
    expect(await told(`/why/${revision}`), `why ${sent}`).toEqual(await printed("why", sent));
    const why = (await told(`/why/${revision}`)) as WhyDocument;
    expect(await told(`/why/${revision}?from=1&n=2`), `a page of why ${sent}`).toMatchObject({
      ...{ candidates: why.candidates.slice(1, 3), sent: why.sent.slice(1, 3), from: 1 },
      all: { candidates: why.candidates.length, sent: why.sent.length },
    });
    expect(await told(`/request/${revision}`), `request ${sent}`).toEqual(await printed("request", sent));
  }
  expect(await here.get("/api/bill?by=conversation")).toEqual(await printed("bill", "--by", "conversation"));
  expect(await here.get("/api/bill?by=layer")).toEqual(await printed("bill", "--by", "layer"));
  expect(await here.get("/api/cache")).toEqual(await printed("cache", "--all"));
  expect(await here.get("/api/search?q=hotel&n=20")).toEqual(await printed("search", "hotel"));
  expect(await here.get("/api/conversations?n=20")).toEqual(await printed("ls"));
});
