import { afterAll, expect, test } from "vitest";
import * as z from "zod";
import { canonicalJson } from "../../../src/base/canonical-json.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { type Block, idOf } from "../../../src/domain/block.ts";
import type { RecordedEvent } from "../../../src/domain/events/recorded.ts";
import type { Turn } from "../../../src/domain/turn.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { clientTurn } from "../../../src/projections/client-turn/client-turn.ts";
import type { RunTurns } from "../../../src/projections/client-turn/run-turns.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { isTelling, seeds } from "../../support/cases.ts";
import { createRandom } from "../../support/coherence/random.ts";
import { RandomStack } from "../../support/run/random-stack.ts";
import { doerOf, Truth } from "../../support/truth.ts";
import { createWorkshop, freshStore, storeKinds } from "../../support/workshop.ts";

const tally = { runs: 0, failed: 0, revisions: 0, turns: 0, versions: 0, removals: 0 };

/** Every member that two Turns have to agree in. */
const told = (turn: Turn): readonly string[] =>
  turn.blocks.map(({ id, digest, wire }) => canonicalJson({ id, digest, wire }));

test.each(storeKinds)(
  "the log folds to the Turns that layers held, and blames who did it (%s)",
  { timeout: 3_600_000 },
  async (kind) => {
    for (const seed of kind === "memory" ? seeds(18, 15_000, 100) : seeds(5, 2_500, 15)) await play(seed, kind);
    if (isTelling) expect(tally.removals).toBeGreaterThan(0);
  },
);

async function play(seed: number, kind: (typeof storeKinds)[number]): Promise<void> {
  const random = createRandom(seed);
  const { conversation, watched, ...workshop } = createWorkshop({ events: await freshStore(kind) });
  const truth = new Truth(() => watched.written.flat().length);
  const stack = new RandomStack(random, truth);
  const lookUp = tool({
    name: "look-up",
    description: "Looks up.",
    inputSchema: z.looseObject({}),
    execute: () => stack.lookUp(),
  });
  for (let runs = 1 + random.below(3); runs > 0; runs -= 1) {
    await conversation.append(truth.said(stack.word("said"), "user"));
    const base = await conversation.turn();
    const provider = scripted(() => stack.answer(), { prefix: `${seed}_${runs}_` });
    const middleware = Array.from({ length: 1 + random.below(3) }, (_, n) => stack.layer(`layer-${n}`));
    truth.begin();
    const engine = workshop.engine({ provider, tools: [lookUp], middleware, maxSteps: 4 });
    const result = await conversation.run(engine).catch((error: unknown) => {
      if (!(error instanceof Error && "code" in error && error.code === "run-failed")) throw error;
      return null;
    });
    tally.runs += 1;
    if (result === null) tally.failed += 1;
    const boundaries = boundariesOf(watched.written);
    const label = `seed ${seed}, run ${tally.runs}`;
    await checkFold(label, { conversation, truth, boundaries, base });
    await checkBlame(label, { conversation, truth, isFinished: result !== null });
  }
}

/** How many events were there after each append. */
function boundariesOf(written: readonly (readonly string[])[]): readonly number[] {
  let sum = 0;
  return written.map((types) => (sum += types.length));
}

type Played = { readonly conversation: Conversation; readonly truth: Truth };
type FoldCheck = Played & { readonly boundaries: readonly number[]; readonly base: Turn };

/** At every revision of the run: every Turn that had been handed on by then is what the fold says, and the rest is as it was. */
async function checkFold(label: string, { conversation, truth, boundaries, base }: FoldCheck): Promise<void> {
  const head = (boundaries.at(-1) ?? 0) - 1;
  const held = truth.held.map((each) => ({
    ...each,
    // Durable with the next append: from its last event on the log has to tell it.
    from: (boundaries.find((end) => end > each.eventsBefore) ?? head + 2) - 1,
  }));
  const byName = new Map(held.map((each) => [each.name, each]));
  const begin = Math.min(...held.map(({ eventsBefore }) => eventsBefore));
  const view = clientTurn.initial(conversation.id);
  for await (const recorded of conversation.history()) {
    clientTurn.apply(view, recorded);
    const { revision } = recorded;
    if (view.run === null || revision < begin) continue;
    tally.revisions += 1;
    expectSame(view.committed, base, `${label}: the committed Turn at revision ${revision}`);
    const touched = byName.get(nameTouchedBy(recorded) ?? "");
    for (const { name, turn } of [
      ...held.filter(({ from }) => from <= revision),
      ...(touched === undefined ? [] : [touched]),
    ]) {
      tally.turns += 1;
      expectSame(turnOf(view.run.turns, name), turn, `${label}: ${name} at revision ${revision}`);
    }
  }
}

function expectSame(actual: Turn, expected: Turn, label: string): void {
  const isSame =
    actual.length === expected.length && actual.blocks.every((block, n) => isSameBlock(block, expected.at(n)));
  if (!isSame) expect(told(actual), label).toEqual(told(expected));
}

const isSameBlock = (left: Block, right: Block | undefined): boolean =>
  left === right ||
  (left.id === right?.id && left.digest === right.digest && canonicalJson(left.wire) === canonicalJson(right.wire));

/** The Turn that an event gives. */
function nameTouchedBy({ event, frame }: RecordedEvent): string | null {
  if (event.type === "ResponseReceived") return `result/${frame}`;
  if (event.type !== "TurnEdited") return null;
  return event.data.direction === "request" ? `given/${frame}` : `result/${frame}`;
}

const turnOf = (turns: RunTurns, name: string): Turn =>
  turns.get(name.startsWith("given/") ? `given/${name.slice(6)}` : `result/${name.slice(7)}`);

/** Everyone is blamed for what they did, and for nothing else. */
async function checkBlame(
  label: string,
  { conversation, truth, isFinished }: Played & { readonly isFinished: boolean },
): Promise<void> {
  const past = await (await conversation.at(-1)).load();
  const present = new Set(past.turn.blocks.map(idOf));
  for (const block of past.turn.blocks) {
    const blame = past.blame(idOf(block));
    if (block.text.startsWith("Error:") || block.text === "aborted" || block.text.startsWith("in doubt")) continue;
    tally.versions += 1;
    const author = blame?.versions.find(({ digest }) => digest === block.recordedAs)?.change.actor;
    expect(author && doerOf(author), `${label}: who said ${block.text}`).toBe(truth.sayers.get(block.text));
    expect(blame?.removed, `${label}: ${block.text} is there`).toBeNull();
  }
  for (const [id, text] of truth.firstTexts) {
    const made = past.blame(id)?.made.actor;
    if (made === undefined || text.startsWith("Error:") || text === "aborted" || text.startsWith("in doubt")) continue;
    expect(doerOf(made), `${label}: who made ${id}`).toBe(truth.sayers.get(text));
  }
  if (!isFinished) return;
  for (const [id, remover] of truth.atEnd) {
    expect(present.has(id), `${label}: ${id} was removed`).toBe(false);
    tally.removals += 1;
    const removed = past.blame(id)?.removed?.actor;
    expect(removed && doerOf(removed), `${label}: who removed ${id}`).toBe(remover);
  }
}

afterAll(() => {
  const { runs, failed, revisions, turns, versions, removals } = tally;
  process.stdout.write(
    `fold: ${runs} runs (${failed} failed), ${turns} Turns compared at ${revisions} revisions, ${versions} authors and ${removals} removers\n`,
  );
});
