import { createInterface } from "node:readline";
import { setImmediate } from "node:timers/promises";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import "../keep-compiled.ts";

/**
 * A process of its own that reads a conversation again and again, in every way, while another one erases from it: `node reading-process.ts <file>`.
 * It is told `erased <n>` when the n-th secret is gone, and answers with what it saw of it then.
 *
 * A secret is said in two messages and in the title, which are erased together.
 */
const [path = ""] = process.argv.slice(2);
const store = new TurnlogStore(await openSqliteStore(path));
const gone = new Set<string>();
const seen = { reads: 0, before: 0, after: 0, mixed: [] as string[], late: [] as string[], errors: [] as string[] };
const told = { isOver: false };

const secretsIn = (text: string): readonly string[] => text.match(/secret-\d+-of-Ada/g) ?? [];

/** What a look saw, which began when these were gone already. */
function note(what: string, text: string, goneBefore: ReadonlySet<string>): void {
  seen.reads += 1;
  for (const secret of new Set(secretsIn(text)))
    if (goneBefore.has(secret)) seen.late.push(`${what}: ${secret} after it was erased`);
}

/** A state as a whole has both messages of a secret and its title, or none of them. */
function noteState(what: string, texts: readonly string[], goneBefore: ReadonlySet<string>): void {
  note(what, texts.join("\n"), goneBefore);
  const counts = new Map<string, number>();
  for (const secret of secretsIn(texts.join("\n"))) counts.set(secret, (counts.get(secret) ?? 0) + 1);
  for (const [secret, count] of counts) if (count !== 2) seen.mixed.push(`${what}: ${secret} ${count} times`);
  if (counts.size > 0) seen.before += 1;
  else if (texts.includes("[erased]")) seen.after += 1;
}

/** What was erased is named; before the first run there is no request. */
const expectedErrors = new Set(["content-erased", "conversation-erased", "request-not-found"]);

async function look(what: string, work: (goneBefore: ReadonlySet<string>) => Promise<void>): Promise<void> {
  try {
    await work(new Set(gone));
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "none";
    if (!expectedErrors.has(code)) seen.errors.push(`${what}: ${error instanceof Error ? error.stack : String(error)}`);
  }
}

async function lookAt(conversation: Conversation): Promise<void> {
  const textsOf = (blocks: readonly { readonly text: string }[]): readonly string[] => blocks.map(({ text }) => text);
  await look("turn", async (before) => noteState("turn", textsOf((await conversation.turn()).blocks), before));
  await look("past", async (before) => {
    const past = await conversation.at(-1);
    noteState("past", textsOf((await past.content()).blocks), before);
  });
  await look("body", async (before) => note("body", (await conversation.request()).bodyText, before));
  await look("list", async (before) => note("list", JSON.stringify(await store.list()), before));
  await look("search", async (before) => note("search", JSON.stringify((await store.search("secret")).hits), before));
  await look("events", async (before) => {
    for await (const { event } of conversation.events()) note("events", JSON.stringify(event), before);
  });
}

async function follow(conversation: Conversation, signal: AbortSignal): Promise<void> {
  const erased = new Set<string>();
  for await (const { event, revision } of conversation.follow(0, signal)) {
    const text = JSON.stringify(event);
    // In the order of the log: nothing that comes behind an erasure says what it erased.
    for (const secret of secretsIn(text)) if (erased.has(secret)) seen.late.push(`follow: ${secret} at ${revision}`);
    if (event.type === "LinesErased") for (const secret of gone) erased.add(secret);
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  if (line === "end") told.isOver = true;
  else gone.add(line.replace("erased ", ""));
  process.stdout.write(`${line}\n`);
});

const conversation = store.conversation("talk");
const abort = new AbortController();
const following = look("follow", () => follow(conversation, abort.signal));
process.stdout.write("open\n");
while (!told.isOver) {
  await lookAt(conversation);
  await look("all", async (before) => {
    for await (const id of store.conversations())
      await look("whole", async () =>
        note("whole", JSON.stringify((await store.conversation(id).turn()).blocks), before),
      );
  });
  await setImmediate();
}
abort.abort();
await following;
await store.close();
process.stdout.write(`${JSON.stringify(seen)}\n`);
