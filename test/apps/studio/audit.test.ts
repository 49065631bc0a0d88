import { expect, test } from "vitest";
import type { AuditDocument, AuditHeadsPage, AuditReport } from "../../../src/apps/studio/audit-documents.ts";
import { bundledStudio } from "../../../src/apps/studio/bundled-studio.ts";
import { omitMembers } from "../../../src/base/json.ts";
import { documentOf, turnlogHere } from "../../support/cli/command.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import { newestId } from "../../support/studio/browser.ts";
import { documentAt, studioHere } from "../../support/studio/studio-here.ts";
import { damageEvent } from "../../support/studio/troubled-store.ts";

const demoStore = useDemoStore();

type Here = Pick<Awaited<ReturnType<typeof studioHere>>, "get">;

/** Verifies the store, and waits for the result as the page does. */
async function verified({ get }: Here): Promise<AuditDocument> {
  expect((await get<AuditDocument>("/api/audit?now=1")).running).not.toBe(null);
  for (;;) {
    const document = await get<AuditDocument>("/api/audit");
    if (document.running === null) return document;
    // Lets the verification have its turn.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** What is said of a verification beyond the document of the command. */
const own = new Set(["at", "ms", "total"]);

test("the audit has what verify and erase print as --json, of a sound store and of a damaged one", async () => {
  const folder = demoStore();
  const printed = async (...words: readonly string[]): Promise<unknown> =>
    (documentOf(await turnlogHere([...words, "--json"], { cwd: folder.path })) as { readonly data: unknown }).data;
  await using here = await studioHere(`sqlite:${folder.file("turnlog.db")}`, { address: "sqlite:./turnlog.db" });
  const id = await newestId(here.store);
  expect(await here.get<AuditDocument>("/api/audit")).toMatchObject({ last: null, events: 66, conversations: 1 });
  const sound = await verified(here);
  expect(omitMembers(sound.last ?? {}, own)).toEqual(await printed("verify"));
  expect(sound.last).toMatchObject({ isSound: true, total: 66 });
  const { blocks } = (await here.store.conversation(id).at(-1)).turn;
  const target = { conversation: id, block: blocks[1]?.id ?? "" };
  await here.store.erase(await here.store.planErasure({ blocks: [target] }), { by: "dpo", ground: "gdpr-17" });
  const { orders } = (await printed("erase")) as { readonly orders: readonly unknown[] };
  const after = await here.get<AuditDocument>("/api/audit");
  expect([after.orders, orders.length]).toEqual([orders, 1]);
  expect(after.events).toBeGreaterThan(after.last?.total ?? 0);
  expect(omitMembers((await verified(here)).last ?? {}, own)).toEqual(await printed("verify"));
  damageEvent(folder.file("turnlog.db"), `conversation-${id}`, 20);
  const damaged = await verified(here);
  expect(omitMembers(damaged.last ?? {}, own)).toEqual(await printed("verify"));
  expect(damaged.last?.problems[0]).toMatchObject({ conversation: id, revision: 20 });
  const { heads } = await here.get<AuditHeadsPage>("/api/audit/heads");
  expect(heads.find(({ conversation }) => conversation === id)?.isRight).toBe(false);
  const { version, data } = await here.get<AuditReport>("/api/audit/report");
  expect([version, data]).toEqual([
    1,
    { store: "sqlite:./turnlog.db", verified: damaged.last, erasures: damaged.orders, heads },
  ]);
});

test("a verification by the page goes on beside other requests, and saves no heads, as verify does", async () => {
  await using here = await studioHere(`sqlite:${demoStore().file("turnlog.db")}`);
  const { events } = here.store;
  const save = events.saveHeads?.bind(events);
  let saved = 0;
  events.saveHeads = async () => {
    saved += 1;
    await save?.();
  };
  expect((await here.get<AuditDocument>("/api/audit?now=1")).running?.total).toBe(66);
  // A second one does not begin while the first goes on.
  expect((await here.get<AuditDocument>("/api/audit?now=1")).running?.total).toBe(66);
  await expect.poll(async () => (await here.get<AuditDocument>("/api/audit")).last?.isSound).toBe(true);
  expect(saved).toBe(0);
  await here.store.verify();
  expect(saved).toBe(1);
});

test("heads come in pages, and a page with redacted texts cannot be verified", async () => {
  await using here = await studioHere("memory:");
  for (let n = 0; n < 5; n += 1) await here.store.conversation(`cnv_head_${n}`).append("hello");
  const page = await here.get<AuditHeadsPage>("/api/audit/heads?from=3&n=100");
  expect([page.total, page.heads.map(({ conversation }) => conversation)]).toEqual([5, ["cnv_head_3", "cnv_head_4"]]);
  const redacted = await bundledStudio({ lines: [], address: "page.html", isRedacted: true });
  expect(await documentAt(redacted, "/api/audit?now=1")).toMatchObject({
    isPossible: false,
    running: null,
    last: null,
  });
});
