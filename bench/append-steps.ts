import { join } from "node:path";
import { plainNames } from "../src/domain/block-names.ts";
import { checkBounds } from "../src/log/codec/bounds.ts";
import { chainDigest, firstPrevious } from "../src/log/codec/envelope.ts";
import { createEventLog, type LogAppendResult } from "../src/log/codec/event-log.ts";
import { createEventIds } from "../src/log/codec/ids.ts";
import { linesDigest, linesOf, saltLength } from "../src/log/codec/lines.ts";
import { type NewEvent, prepareAppend } from "../src/log/codec/prepare.ts";
import type { Envelope, Head, PreparedAppend } from "../src/log/ports/event-store.ts";
import { createAppend } from "../src/stores/sqlite/append.ts";
import { createGroupCommit } from "../src/stores/sqlite/group-commit.ts";
import { openDatabase } from "../src/stores/sqlite/open.ts";
import { createPlaceCheck } from "../src/stores/sqlite/place.ts";
import { openSqliteStore } from "../src/stores/sqlite/store.ts";
import { createTransactions } from "../src/stores/sqlite/transaction.ts";
import { openBesideSqlite } from "./beside-sqlite.ts";
import { collectGarbage } from "./collect-garbage.ts";
import { type BenchRow, summary } from "./row.ts";

const rounds = 20;
const warmUp = 5;

/**
 * Where the processor time of a durable append of one event goes: works that take turns, each of which does what the one before does and
 * one thing more. The first is the row that appends are compared with, the last one the log's append.
 *
 * @param newEvents - Makes so many events of a conversation.
 */
export async function benchAppendSteps(
  folder: string,
  newEvents: (count: number) => readonly NewEvent[],
): Promise<readonly BenchRow[]> {
  const appends = 300;
  using row = openBesideSqlite(join(folder, "steps-row.db"));
  using head = openAppends(join(folder, "steps-head.db"));
  using files = openAppends(join(folder, "steps-files.db"));
  using queue = openAppends(join(folder, "steps-queue.db"));
  await using store = await openSqliteStore(join(folder, "steps-log.db"));
  const sources = { clock: Date.now, newEventId: createEventIds() };
  const log = createEventLog(store, sources);
  const times = new Map<string, readonly number[]>();
  for (let round = -warmUp; round < rounds; round += 1) {
    const stream = `conversation-${round}`;
    const events = newEvents(appends);
    const lines = { names: plainNames };
    const prepared = prepareAppend({ ...{ stream, head: null, lastAt: null, events, lines }, ...sources });
    const envelopes = prepared.appends.flatMap((each) => each.envelopes);
    const sealed = { stream, events, envelopes, salts: envelopes.map(saltsOf) };
    const works: Readonly<Record<Step, () => unknown>> = {
      row: row.sealing({ ...sealed, batch: 1 }),
      head: () => appendEach(sealed, head.whole),
      files: () => appendEach(sealed, files.wholeInPlace),
      queue: () => appendEach(sealed, queue.queued),
      async log() {
        let at: Head | null = null;
        for (const event of events) {
          const result: LogAppendResult<NewEvent["event"]> = await log.append(stream, at, [event]);
          if (result.status === "conflict") throw new Error(`somebody else writes ${stream}`);
          at = result.head;
        }
      },
    };
    for (const index of steps.keys()) {
      const [step] = steps[(index + round + warmUp) % steps.length] ?? steps[0];
      collectGarbage();
      const before = process.cpuUsage();
      await works[step]();
      const { user, system } = process.cpuUsage(before);
      if (round >= 0) times.set(step, [...(times.get(step) ?? []), (user + system) / appends]);
    }
  }
  return steps.map(([step, name], index) => {
    const { value, noise } = summary(times.get(step) ?? []);
    const before = summary(times.get(steps[index - 1]?.[0] ?? "") ?? []).value;
    const note = index === 0 ? "" : `, ${(value - before).toFixed(0)} us more than the step before`;
    return {
      name: `processor time of a durable append of 1, ${name}`,
      value,
      noise,
      unit: "us",
      note: `median${note}`,
    };
  });
}

const steps = [
  ["row", "row with lines and digests, in a transaction"],
  ["head", "and the expected head, by the stream's name"],
  ["files", "and a look at the two files before the commit"],
  ["queue", "and the queue: bounds, a promise, turns of the event loop"],
  ["log", "and the log: id, time, salts, names, place of the event"],
] as const;

type Step = (typeof steps)[number][0];

type Sealed = {
  readonly stream: string;
  readonly events: readonly NewEvent[];
  readonly envelopes: readonly Envelope[];
  readonly salts: readonly (readonly string[])[];
};

const saltsOf = ({ data }: Envelope): readonly string[] =>
  data
    .split("\n")
    .slice(1)
    .map((line) => line.slice(0, saltLength));

/** Makes each event's lines and digests as the row does, and appends it. */
async function appendEach(
  { stream, events, envelopes, salts }: Sealed,
  append: (prepared: PreparedAppend) => unknown,
): Promise<void> {
  let previous = firstPrevious(stream);
  let expectedHead: Head | null = null;
  for (const [index, each] of envelopes.entries()) {
    const event = events[index]?.event ?? { type: "", version: 1, data: {} };
    const given = salts[index] ?? [];
    let salt = 0;
    const envelope = { ...each };
    envelope.data = linesOf(event.data, event, () => given[salt++] ?? "");
    envelope.dataDigest = linesDigest(envelope.data);
    previous = chainDigest(previous, envelope);
    envelope.digest = previous;
    const appended = append({ stream, expectedHead, envelopes: [envelope] });
    // A wait would let the event loop turn.
    if (appended instanceof Promise) await appended;
    expectedHead = { revision: envelope.revision, digest: previous };
  }
  if (previous !== envelopes.at(-1)?.digest) throw new Error(`${stream} was sealed as something else`);
}

/** A database like a store's, and the steps of its append. */
function openAppends(path: string) {
  const { database } = openDatabase(path, {});
  const { whole } = createTransactions(database);
  const append = createAppend(database);
  const place = createPlaceCheck(path);
  const group = createGroupCommit({
    ...{ database, append, admit: checkBounds, deadlineMs: 5_000, confirmPlace: () => place.confirm("written") },
    translate: (error) => error,
    onCommit: () => undefined,
  });
  return {
    whole: (prepared: PreparedAppend) => whole(() => append(prepared)),
    wholeInPlace: (prepared: PreparedAppend) =>
      whole(() => {
        append(prepared);
        place.confirm("written");
      }),
    queued: group.append,
    [Symbol.dispose]() {
      database.close();
      place.close();
    },
  };
}
