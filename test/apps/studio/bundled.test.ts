import { expect, test } from "vitest";
import type { ShowDocument } from "../../../src/apps/documents/conversations.ts";
import type { BiographyDocument } from "../../../src/apps/studio/biography-documents.ts";
import { bundledStudio } from "../../../src/apps/studio/bundled-studio.ts";
import { maskedEvent } from "../../../src/apps/studio/masked-event.ts";
import type { OverviewDocument } from "../../../src/apps/studio/page-documents.ts";
import type { StackDocument } from "../../../src/apps/studio/stack-documents.ts";
import { exportBundle } from "../../../src/operations/transfer/carry-bundle.ts";
import { cases } from "../../support/cases.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import { documentAt, statusAt, studioHere } from "../../support/studio/studio-here.ts";

const demoStore = useDemoStore();

async function openDemo() {
  const here = await studioHere(`sqlite:${demoStore().file("turnlog.db")}`);
  const { conversations } = await here.store.list();
  return { ...here, id: conversations[0]?.id ?? "" };
}

test("a page in one file answers every route as the studio over the store does", async () => {
  await using demo = await openDemo();
  const lines: string[] = [];
  for await (const line of exportBundle(demo.store)) lines.push(line.trimEnd());
  const bundled = await bundledStudio({ lines, address: "page.html", isRedacted: false });
  const { id } = demo;
  const revisions = Array.from({ length: cases(8, 66, 20) }, (_, n) => (n * 31 + 24) % 66);
  const paths = revisions.flatMap((revision) =>
    ["stack", "time", "show", "blame", "why", "request", "body", "cat"].map(
      (route) => `/api/c/${id}/${route}/${revision}`,
    ),
  );
  for (const path of [
    ...paths,
    `/api/c/${id}`,
    `/api/c/${id}/log`,
    "/api/conversations",
    "/api/bill",
    "/api/search?q=hotel",
    `/api/chains?ids=${id}`,
  ]) {
    // Positions are those of the whole log, which a bundle does not carry.
    const told = async (studio: typeof bundled): Promise<unknown> =>
      JSON.parse(JSON.stringify(await documentAt(studio, path)).replace(/"position":"\d+"/g, '"position":""'));
    expect(await told(bundled), path).toEqual(await told(demo.studio));
  }
});

test("a redacted page shows who changed what and what was sent, and no text of anyone", async () => {
  await using demo = await openDemo();
  const lines: string[] = [];
  for await (const envelope of demo.store.events.readLog({ streamPrefix: "conversation-" }))
    lines.push(JSON.stringify(maskedEvent(envelope)));
  const all = lines.join("\n");
  for (const said of ["Rome", "ada@example.org", "Termini", "Réponds", "K7Q2", "Paris"])
    expect(all).not.toContain(said);
  const redacted = await bundledStudio({ lines, address: "page.html", isRedacted: true });
  const [whole, masked] = [
    await demo.get<StackDocument>(`/api/c/${demo.id}/stack/24`),
    await documentAt<StackDocument>(redacted, `/api/c/${demo.id}/stack/24`),
  ];
  const outline = ({ banner: { title, edit }, rows, layers }: StackDocument) => ({
    ...{ title, edit, layers },
    rows: rows.map((row) =>
      row.kind === "fold" ? row : { id: row.id, sign: row.request?.sign, layers: row.edits.map(({ layer }) => layer) },
    ),
  });
  expect(outline(masked)).toEqual(outline(whole));
  const overview = await documentAt<OverviewDocument>(redacted, `/api/c/${demo.id}`);
  expect(overview).toMatchObject({ events: 66, damage: null });
  for (const route of ["body", "why"])
    expect(await statusAt(redacted, `/api/c/${demo.id}/${route}/24`), route).toBe(422);
});

test("a redacted page of a conversation of which blocks were erased says so, and shows the others masked", async () => {
  await using demo = await openDemo();
  const [, first] = (await demo.store.conversation(demo.id).turn()).blocks;
  const plan = await demo.store.planErasure({ blocks: [{ conversation: demo.id, block: first?.id ?? "" }] });
  await demo.store.erase(plan, { by: "dpo", ground: "gdpr-17", keepStored: true });
  const lines: string[] = [];
  for await (const envelope of demo.store.events.readLog({ streamPrefix: "conversation-" }))
    lines.push(JSON.stringify(maskedEvent(envelope)));
  const redacted = await bundledStudio({ lines, address: "page.html", isRedacted: true });
  const overview = await documentAt<OverviewDocument>(redacted, `/api/c/${demo.id}`);
  expect(overview).toMatchObject({ damage: null });
  for (const route of ["log", ...["stack", "time", "show", "blame", "cat"].map((name) => `${name}/24`)])
    expect(await statusAt(redacted, `/api/c/${demo.id}/${route}`), route).toBe(200);
  const [whole, masked] = await Promise.all(
    [demo.studio, redacted].map((studio) => documentAt<ShowDocument>(studio, `/api/c/${demo.id}/show/66`)),
  );
  const erased = (shown: ShowDocument | undefined) => shown?.turn.map(({ id, erased = false }) => [id, erased]);
  expect(erased(masked)).toEqual(erased(whole));
  const story = await documentAt<BiographyDocument>(redacted, `/api/c/${demo.id}/block/${first?.id ?? ""}`);
  expect(story.steps.map(({ what, actor }) => [what, actor])).toEqual([
    ["made", "user"],
    ["changed", "redact-emails@1.0.0"],
    ["erased", expect.stringMatching(/^operator#/)],
  ]);
  expect(erased(masked)?.filter(([, isErased]) => isErased)).toHaveLength(1);
});
