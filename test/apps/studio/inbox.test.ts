import { expect, test } from "vitest";
import type { ActedDocument, InboxDocument, InboxItemDocument } from "../../../src/apps/studio/inbox-documents.ts";
import { Inbox } from "../../../src/apps/studio/inbox-list.ts";
import { studioOver } from "../../../src/apps/studio/studio.ts";
import { Writing } from "../../../src/apps/studio/writing.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { documentOf, turnlogHere } from "../../support/cli/command.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { documentAt } from "../../support/studio/studio-here.ts";
import { bookingAgent, recordWaiting, waitingIds } from "../../support/studio/waiting-store.ts";

/** A studio over the store in which everything waits, which may write. */
async function openInbox({ reads = false } = {}) {
  const folder = temporaryFolder();
  const address = `sqlite:${folder.file("turnlog.db")}`;
  await recordWaiting(address);
  const store = await openStore(address);
  const agent = bookingAgent();
  const writing = new Writing({ store, engine: agent.engine, stack: "stack.ts", as: "ann" });
  const studio = studioOver({ store, access: () => true }, reads ? {} : { writing });
  const post = (id: string, body: unknown): Promise<Response> =>
    studio.fetch(new Request(`http://studio/api/inbox/${id}`, { method: "POST", body: JSON.stringify(body) }));
  return {
    ...{ store, studio, agent, folder, post },
    inbox: () => documentAt<InboxDocument>(studio, "/api/inbox"),
    item: (id: string, call = "") =>
      documentAt<InboxItemDocument>(studio, `/api/inbox/${id}?call=${encodeURIComponent(call)}`),
    /** What came of an answer. */
    act: async (id: string, body: unknown): Promise<ActedDocument> =>
      (await (await post(id, body)).json()) as ActedDocument,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

/** The call of a conversation that waits, as the page sends it back. */
async function callOf({ inbox, item }: Awaited<ReturnType<typeof openInbox>>, id: string) {
  const found = (await inbox()).items.find(({ conversation }) => conversation === id);
  const { waiting } = await item(id, found?.blockId ?? "");
  return { call: waiting?.blockId ?? "", digest: waiting?.digest ?? null };
}

test("the inbox has all that waits, the most urgent first, and what waits for a person is that of ls --waiting and show", async () => {
  await using here = await openInbox();
  const { items, hasMore } = await here.inbox();
  expect(hasMore).toBe(false);
  expect(items.map(({ kind, conversation, words }) => [kind, conversation, words])).toEqual([
    ["approval", waitingIds.approval, "it spends 119 euros"],
    ["doubt", waitingIds.doubt, "it had begun when its process ended"],
    ["external", waitingIds.external, "its result comes from outside"],
    ["cut-off", waitingIds.parked, "no process goes on with it"],
    ["cut-off", waitingIds.ready, "everything is decided"],
    ["failed", waitingIds.failed, "the model is overloaded"],
    ["elsewhere", waitingIds.elsewhere, "a process on another machine has it"],
  ]);
  const { path: cwd } = here.folder;
  const printed = async (...words: readonly string[]) =>
    (documentOf(await turnlogHere([...words, "--json"], { cwd })) as { readonly data: unknown }).data;
  const listed = (await printed("ls", "--waiting")) as {
    readonly conversations: readonly {
      readonly id: string;
      readonly openRun: { readonly waitingFor: readonly object[] };
    }[];
  };
  const waits = listed.conversations.flatMap(({ id, openRun }) =>
    openRun.waitingFor.map((waiting) => ({ conversation: id, ...waiting })),
  );
  const shown = items.filter(({ kind }) => ["approval", "doubt", "external"].includes(kind));
  expect(waits).toHaveLength(shown.length);
  for (const { conversation, kind, blockId, name, since, expiresAt, words } of shown) {
    const reason = kind === "approval" ? words : null;
    expect(waits).toContainEqual({ conversation, kind, blockId, name, since, expiresAt, reason });
    const { run } = (await printed("show", conversation)) as {
      readonly run: { readonly waitingFor: readonly unknown[] };
    };
    expect([(await here.item(conversation, blockId ?? "")).waiting]).toEqual(run.waitingFor);
  }
});

test("every answer does what it says, under the name of the operator, and nothing of it waits then", async () => {
  await using here = await openInbox();
  const { agent, act, inbox } = here;
  const seen = await callOf(here, waitingIds.approval);
  const input = { train: "08:26", day: "Friday" };
  const edited = { do: "approve", ...seen, input, message: "the later one" };
  expect(await act(waitingIds.approval, edited)).toMatchObject({ did: "edit", isNew: true, state: "done" });
  const charged = await callOf(here, waitingIds.doubt);
  const result = { do: "settle", call: charged.call, how: "result", output: "took 5 euros" };
  expect(await act(waitingIds.doubt, result)).toMatchObject({ did: "settle", state: "done" });
  const place = await callOf(here, waitingIds.external);
  const answered = { do: "settle", call: place.call, how: "result", output: { city: "Ghent" } };
  expect(await act(waitingIds.external, answered)).toMatchObject({ did: "settle", state: "done" });
  expect(await act(waitingIds.ready, { do: "resume", takeover: false })).toMatchObject({
    did: "resume",
    state: "done",
  });
  expect(await act(waitingIds.parked, { do: "abandon", takeover: false })).toMatchObject({
    did: "abandon",
    state: "done",
  });
  expect(await act(waitingIds.failed, { do: "run" })).toMatchObject({ did: "run", state: "done" });
  expect(await act(waitingIds.elsewhere, { do: "resume", takeover: true })).toMatchObject({ state: "done" });
  const booked = { train: "06:26", day: "Friday" };
  expect(agent.did).toEqual([input, booked, booked]);
  expect((await inbox()).items).toEqual([]);
  const actors: unknown[] = [];
  for (const id of [waitingIds.approval, waitingIds.doubt, waitingIds.external])
    for await (const { event, actor } of here.store.conversation(id).events())
      if (event.type === "ApprovalDecided" || event.type === "ToolSettled") actors.push(actor);
  const ann = { kind: "operator", name: "ann" };
  expect(actors).toEqual([ann, ann, ann]);
  const texts = await Promise.all(
    [waitingIds.doubt, waitingIds.external].map(async (id) => (await here.store.conversation(id).turn()).last?.text),
  );
  expect(texts).toEqual([expect.stringContaining("took 5 euros"), expect.stringContaining("Ghent")]);
});

test("a denied call never begins, and its reason goes to the model", async () => {
  await using here = await openInbox();
  const seen = await callOf(here, waitingIds.approval);
  const denied = { do: "deny", ...seen, message: "too dear" };
  expect(await here.act(waitingIds.approval, denied)).toMatchObject({ did: "deny", isNew: true, state: "done" });
  expect(here.agent.did).toEqual([]);
  expect((await here.store.conversation(waitingIds.approval).turn()).last?.text).toContain("too dear");
});

test("what cannot be done is refused with a reason, and changes nothing", async () => {
  await using here = await openInbox();
  const { call, digest } = await callOf(here, waitingIds.approval);
  const approve = { do: "approve", call, digest };
  const { approval, ready, elsewhere } = waitingIds;
  for (const [id, body, status, code] of [
    [approval, { ...approve, digest: "0".repeat(64) }, 409, "call-changed"],
    [approval, { ...approve, input: { train: 8 } }, 422, "approval-input"],
    [approval, { do: "dance" }, 400, "input"],
    [approval, { ...approve, mesage: "misspelt" }, 400, "input"],
    [ready, approve, 409, "not-waiting"],
    [ready, { do: "settle", call, how: "rerun" }, 409, "not-in-doubt"],
    [elsewhere, { do: "abandon", takeover: false }, 409, "run-in-progress"],
    ["cnv_there_is_none", { do: "run" }, 404, "not-found"],
    ["no id", { do: "run" }, 404, "not-found"],
  ] as const) {
    const answer = await here.post(encodeURIComponent(id), body);
    const document = (await answer.json()) as { readonly error: { readonly code: string; readonly hint: string } };
    expect([answer.status, document.error.code], JSON.stringify(body)).toEqual([status, code]);
  }
  const bad = new Request(`http://studio/api/inbox/${approval}`, { method: "POST", body: "{" });
  expect((await here.studio.fetch(bad)).status).toBe(400);
  expect((await here.inbox()).items).toHaveLength(7);
  expect(here.agent.did).toEqual([]);
});

test("a studio that only reads refuses every answer with 403, and says how to start one that writes", async () => {
  await using here = await openInbox({ reads: true });
  const seen = await callOf(here, waitingIds.approval);
  const answer = await here.post(waitingIds.approval, { do: "approve", ...seen });
  expect([answer.status, await answer.json()]).toEqual([
    403,
    {
      error: expect.objectContaining({
        code: "read-only",
        hint: expect.stringContaining("--write") as string,
      }) as object,
    },
  ]);
  expect((await here.inbox()).items).toHaveLength(7);
});

test("a context that the server may soon forget is listed, and one that was answered yesterday is not", async () => {
  const day = 24 * 60 * 60 * 1_000;
  const events = createMemoryStore();
  for (const [id, days] of [
    ["cnv_old_answer", 28],
    ["cnv_new_answer", 1],
    ["cnv_forgotten", 30],
  ] as const) {
    const clock = (): number => Date.now() - days * day;
    const then = new TurnlogStore(events, { clock });
    await then.conversation(id).append("hello");
    await then.conversation(id).run(createEngine({ provider: scripted(["Hello."]), clock }));
  }
  const { items } = await new Inbox(events).document();
  expect(items.map(({ kind, conversation }) => [kind, conversation])).toEqual([["expiring", "cnv_old_answer"]]);
});

test("a failed run is listed however many conversations and messages came since, until it is settled", async () => {
  const store = new TurnlogStore(createMemoryStore());
  const broken = () => createEngine({ provider: scripted([{ error: { message: "the model is overloaded" } }]) });
  const failed = store.conversation("cnv_failed_long_ago");
  await failed.append("hello");
  await failed.run(broken()).catch(() => null);
  for (let n = 0; n < 70; n += 1) await failed.append(`message ${n}`);
  for (let n = 0; n < 220; n += 1) await store.conversation(`cnv_${n}`).append("hello");
  const inbox = new Inbox(store.events);
  const { items, hasMore } = await inbox.document();
  expect(items.map(({ kind, conversation, words }) => [kind, conversation, words])).toEqual([
    ["failed", "cnv_failed_long_ago", "the model is overloaded"],
  ]);
  expect(hasMore).toBe(false);
  await failed.run(createEngine({ provider: scripted(["Hello."]) }));
  expect((await inbox.document()).items).toEqual([]);
  await failed.append("again");
  await failed.run(broken()).catch(() => null);
  expect((await inbox.document()).items).toHaveLength(1);
  await failed.revertTo(0);
  expect((await inbox.document()).items).toEqual([]);
});
