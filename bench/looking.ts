import { join } from "node:path";
import { sha256Hex } from "../src/base/sha256.ts";
import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { rebuildRequest } from "../src/engine/recorded/recorded-request.ts";
import { verifyStore } from "../src/operations/audit/verify.ts";
import { copyConversations } from "../src/operations/transfer/copy.ts";
import { conversationView } from "../src/projections/views/conversation-view.ts";
import { codecs } from "../src/providers/codecs.ts";
import { replayFolds } from "../src/replay/fold-replay.ts";
import { createMemoryStore } from "../src/stores/memory/store.ts";
import { openSqliteStore } from "../src/stores/sqlite/store.ts";
import { buildDist, secondsOf } from "./command-time.ts";
import { parseStored } from "./json-parse.ts";
import { mean, ratioOf, takeTurns } from "./rounds.ts";
import { type BenchRow, report, summary } from "./row.ts";
import { chat, inFolder } from "./sample.ts";

/** Five events each. */
const exchanges = 4_000;
const looks = [
  "show @last",
  "show @last@-3",
  "diff @last@15000..16000",
  "blame @last",
  "request @last",
  "why @last",
  "why @last --json",
] as const;

/**
 * The cost of looking at a conversation of 20,000 events with the command: in seconds beyond `ls`, start of the process included;
 * and verification and replay, compared with reading and parsing the events and encoding and hashing the bodies.
 */
export function benchLooking(): Promise<readonly BenchRow[]> {
  return inFolder(async (folder) => {
    await buildDist();
    const path = join(folder, "looking.db");
    await using store = new TurnlogStore(await openSqliteStore(path));
    const stream = await fill(store);
    const events = ((await store.events.head(stream))?.revision ?? -1) + 1;
    return [...lookRows(path, events), ...(await checkRows(store, stream, events))];
  });
}

async function fill(store: TurnlogStore): Promise<string> {
  const memory = new TurnlogStore(createMemoryStore());
  const conversation = memory.conversation();
  await chat(conversation, { exchanges, bytes: 500 });
  await copyConversations(memory, store, { conversations: [conversation.id] });
  return `conversation-${conversation.id}`;
}

function lookRows(path: string, events: number): readonly BenchRow[] {
  const rounds = Array.from({ length: 5 }, () => {
    const listed = secondsOf(path, ["ls"]);
    return { listed, looked: looks.map((typed) => secondsOf(path, typed.split(" ")) - listed) };
  });
  const listed = summary(rounds.map((round) => round.listed)).value;
  return looks.map((typed, index) => ({
    name: `turnlog ${typed} in ${events} events, beyond ls`,
    ...{ value: summary(rounds.map(({ looked }) => looked[index] ?? Number.NaN)).value, unit: "s" },
    ...{ bound: 0.5, kind: "at most", note: `ls takes ${listed.toFixed(2)} s` },
  }));
}

async function checkRows(store: TurnlogStore, stream: string, events: number): Promise<readonly BenchRow[]> {
  const bodies = await bodiesOf(store, stream);
  const works = {
    async least() {
      for await (const envelope of store.events.readStream(stream)) parseStored(envelope);
      for (const body of bodies) sha256Hex(JSON.stringify(body));
    },
    async verify() {
      for await (const { problem } of verifyStore(store.events, { codecs }))
        if (problem !== null) throw new Error(problem.message);
    },
    replay: () => replayFolds(store.conversation(stream.slice("conversation-".length))),
  };
  const times = await takeTurns(5, works, 2);
  return (["verify", "replay"] as const).map((name) => ({
    name: `${name} of ${events} events, against reading, parsing, encoding and hashing`,
    ...ratioOf(times[name], times.least),
    ...{ unit: "x", bound: 5, kind: "at most" },
    note: `${mean(times[name]).toFixed(0)} ms against ${mean(times.least).toFixed(0)} ms, ${bodies.length} bodies`,
  }));
}

async function bodiesOf(store: TurnlogStore, stream: string): Promise<readonly unknown[]> {
  const bodies: unknown[] = [];
  let view = conversationView.initial(stream);
  for await (const recorded of store.conversation(stream.slice("conversation-".length)).history()) {
    view = conversationView.apply(view, recorded);
    if (recorded.event.type === "InferenceRequested")
      bodies.push(JSON.parse(rebuildRequest(view, recorded, codecs).bodyText));
  }
  return bodies;
}

if (import.meta.main) process.exitCode = report(await benchLooking()) ? 0 : 1;
