import { type Chat, createChat } from "../src/apps/web/create-chat.ts";
import type { Conversation } from "../src/conversation/conversation.ts";
import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { createEngine } from "../src/engine/options/create-engine.ts";
import { scripted } from "../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../src/stores/memory/store.ts";
import { mean, ratioOf, takeTurns } from "./rounds.ts";
import { type BenchRow, report } from "./row.ts";
import { chat, textOf } from "./sample.ts";

const [messages, deltas] = [1_000, 2_000];
/** The scripted provider streams this many characters at a time. */
const pieceLength = 8;
const rounds = 20;
const access = () => ({ actor: { kind: "user", name: "ann" }, labels: {} }) as const;
const address = "http://chat.test/api/chat";

/** What the handler of a chat page adds to reading a conversation, and to a run. */
export async function benchWeb(): Promise<readonly BenchRow[]> {
  return [await benchMessages(), await benchStream()];
}

/** A page that is loaded from a process that has not served the conversation before. */
async function benchMessages(): Promise<BenchRow> {
  await using store = new TurnlogStore(createMemoryStore());
  const conversation = store.conversation();
  const engine = await chat(conversation, { exchanges: messages / 2, bytes: 300 });
  const load = async (): Promise<void> => {
    const page = createChat({ store, engine, access });
    const answer = await page.fetch(new Request(`${address}/${conversation.id}`));
    const { messages: shown } = (await answer.json()) as { readonly messages: readonly unknown[] };
    if (shown.length !== messages) throw new Error(`the page has ${shown.length} messages`);
  };
  const times = await takeTurns(rounds, { page: load, reading: () => read(conversation) }, 5);
  const note = `${mean(times.page).toFixed(1)} ms against ${mean(times.reading).toFixed(1)} ms`;
  const name = `web: a page of ${messages} messages, in the time of reading its events`;
  return { name, ...ratioOf(times.page, times.reading), unit: "x", bound: 2, kind: "at most", note };
}

async function read(conversation: Conversation): Promise<void> {
  let count = 0;
  for await (const { revision } of conversation.history()) count = revision;
  if (count < messages) throw new Error(`the conversation has only ${count} events`);
}

async function benchStream(): Promise<BenchRow> {
  await using store = new TurnlogStore(createMemoryStore());
  const said = textOf(deltas * pieceLength);
  const engine = createEngine({ provider: scripted(() => said) });
  const page = createChat({ store, engine, access });
  let asked = 0;
  const alone = async (): Promise<void> => {
    const conversation = store.conversation();
    await conversation.append("Hello.");
    let seen = 0;
    for await (const part of conversation.stream(engine)) if (part.type === "text-delta") seen += 1;
    if (seen !== deltas) throw new Error(`the stream had ${seen} deltas`);
  };
  let pieces = 0;
  const handler = async (): Promise<void> => {
    asked += 1;
    const answer = await streamed(page, `c${asked}`);
    pieces = answer.split('"type":"text-delta"').length - 1;
    if (pieces < 10 || !answer.includes('"finishReason":"stop"')) throw new Error(`the page got ${pieces} pieces`);
  };
  const times = await takeTurns(rounds, { handler, alone }, 5);
  // A reader that is slower than the deltas gets several of them as one.
  const note = `${mean(times.handler).toFixed(1)} ms, in ${pieces} pieces, against ${mean(times.alone).toFixed(1)} ms`;
  const name = `web: a streamed answer of ${deltas} deltas, in the time of the engine alone`;
  return { name, ...ratioOf(times.handler, times.alone), unit: "x", bound: 3, kind: "at most", note };
}

async function streamed(page: Chat, id: string): Promise<string> {
  const message = { id: "m1", role: "user", parts: [{ type: "text", text: "Hello." }] };
  const headers = { "content-type": "application/json" };
  const request = new Request(address, { method: "POST", headers, body: JSON.stringify({ id, messages: [message] }) });
  return (await page.fetch(request)).text();
}

if (import.meta.main) process.exitCode = report(await benchWeb()) ? 0 : 1;
