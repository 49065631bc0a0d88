import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEventIds } from "../../../src/log/codec/ids.ts";
import { commitmentOf, withErasedLines } from "../../../src/log/codec/lines.ts";
import { type AnyEvent, prepareAppend } from "../../../src/log/codec/prepare.ts";
import { namesOf } from "../../../src/log/codec/stream-names.ts";
import { verification } from "../../../src/operations/audit/verify.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { createDamagingStore } from "../../support/log/damaging-store.ts";

const folder = join(import.meta.dirname, "../../golden/events");
const stream = "conversation-talk";
const clock = () => 1_700_000_000_000;

/** A store in which a golden event, written as lines, follows the first event of a conversation. */
async function storeWith(event: AnyEvent) {
  const { events, damage } = createDamagingStore();
  await new TurnlogStore(events).conversation("talk").relabel({ title: "The talk" });
  const head = await events.head(stream);
  if (head === null) throw new Error("the conversation has begun");
  const lines = { names: await namesOf(events, stream) };
  const { appends } = prepareAppend({
    ...{ stream, head, lastAt: null, clock, newEventId: createEventIds({ clock }), lines },
    events: [{ event, actor: { kind: "engine" } }],
  });
  for (const append of appends) await events.append(append);
  const revision = head.revision + 1;
  let data = "";
  for await (const envelope of events.readStream(stream, { from: revision })) data = envelope.data;
  const problem = async (changed: string) => {
    damage(stream, revision, (envelope) => ({ ...envelope, data: changed }));
    const { problems } = await verification(events, { codecs });
    return problems.map((each) => `${each.stream}@${each.revision} ${each.kind}`);
  };
  return { data, problem, isBroken: [`${stream}@${revision} chain`] };
}

/** What may be done to the lines of an event, none of which an erasure does. */
const changes: Readonly<Record<string, (lines: readonly string[]) => readonly string[]>> = {
  "another salt": ([first = "", ...others]) => [`${first.startsWith("A") ? "B" : "A"}${first.slice(1)}`, ...others],
  "another content": ([first = "", ...others]) => [`${first.slice(0, 22)}"something else"`, ...others],
  "a line less": (lines) => lines.slice(1),
  "a line more": (lines) => [...lines, ...lines.slice(0, 1)],
  "two lines exchanged": (lines) => lines.toReversed(),
  "another commitment": ([first = "", ...others]) => [`~${commitmentOf(`${first} `)}`, ...others],
  "two commitments exchanged": (lines) => lines.toReversed().map((line) => `~${commitmentOf(line)}`),
  "the commitment as a content": ([first = "", ...others]) => [commitmentOf(first), ...others],
};

const golden = readdirSync(folder)
  .filter((name) => name.endsWith(".json"))
  .map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")) as AnyEvent);

test(`verify names each line that was exchanged and each commitment that was changed, in ${golden.length} kinds of events`, async () => {
  const tried = new Map<string, number>();
  for (const event of golden) {
    const { data, problem, isBroken } = await storeWith(event);
    const [facts = "", ...lines] = data.split("\n");
    if (lines.length === 0) continue;
    for (const [what, change] of Object.entries(changes)) {
      const changed = [facts, ...change(lines)].join("\n");
      if (changed === data) continue;
      // With one line, nothing can be exchanged, and its commitment is an erased line.
      if (what.startsWith("two") && lines.length === 1) continue;
      expect(await problem(changed), `${event.type}: ${what}`).toEqual(isBroken);
      tried.set(what, (tried.get(what) ?? 0) + 1);
    }
    // An erased line without an order breaks no chain: it is a hole, or what the event says cannot follow from the log.
    expect(await problem(withErasedLines(data, new Set([1]))), event.type).not.toEqual(isBroken);
    expect(await problem(data), event.type).not.toEqual(isBroken);
  }
  expect([...tried.keys()].toSorted()).toEqual(Object.keys(changes).toSorted());
  expect(Math.min(...tried.values())).toBeGreaterThan(2);
});
