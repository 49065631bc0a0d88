import { expect, test } from "vitest";
import { Reel } from "../../../src/apps/studio/reel.ts";
import { stackRows } from "../../../src/apps/studio/stack-rows.ts";
import { instructionBlocks, type Step } from "../../../src/apps/studio/step.ts";
import { type Block, idOf } from "../../../src/domain/block.ts";
import { turnDifference } from "../../../src/domain/turn-difference.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { isTelling, seeds } from "../../support/cases.ts";
import { createRandom, type Random } from "../../support/coherence/random.ts";
import { randomConversation } from "../../support/random-conversation.ts";

test("the rows of a step are those of a look at each of its blocks, whichever folds are opened", async () => {
  const met = { folds: 0, opened: 0, removed: 0, edited: 0 };
  for (const seed of seeds(12, 200, 20)) {
    const workshop = await randomConversation(seed);
    const { store, conversation } = workshop;
    const random = createRandom(seed);
    // Some blocks more than a few, with layers that touch one anywhere.
    for (let runs = 4; runs > 0; runs -= 1) {
      await conversation.append("And then?");
      const middleware = random.chance(0.5) ? [touching(random)] : [];
      await conversation
        .run(workshop.engine({ provider: scripted(["Then that.", "That."]), middleware }))
        .catch(() => null);
    }
    const { steps } = await Reel.open(store.log, conversation.id);
    for (const step of steps) {
      const opened = new Set(random.chance(0.5) ? [] : [0, random.below(4), random.below(12)]);
      const rows = stackRows(step, opened);
      expect(rows, `seed ${seed}, revision ${step.revision}`).toEqual(eachBlock(step, opened));
      met.folds += rows.filter((row) => !("id" in row)).length;
      met.opened += opened.size > 0 && rows.length > stackRows(step, new Set()).length ? 1 : 0;
      met.removed += rows.filter((row) => "id" in row && row.outgoing === null).length;
      met.edited += rows.filter((row) => "id" in row && row.edits.length > 0).length;
    }
  }
  if (isTelling) for (const [what, times] of Object.entries(met)) expect(times, what).toBeGreaterThan(3);
});

/** Changes a block of each request, or leaves it out. */
const touching = (random: Random) =>
  defineMiddleware({ name: "touching", version: "1.0.0" }, (next) => (turn) => {
    const block = turn.at(random.below(turn.length));
    if (block === undefined || block.kind !== "user") return next(turn);
    return next(random.chance(0.5) ? turn.remove(block) : turn.replace(block, block.withText("Well?")));
  });

type Row = Exclude<ReturnType<typeof stackRows>[number], { readonly to: number }>;

/** The same with every block of both Turns by itself. */
function eachBlock(step: Step, opened: ReadonlySet<number>): readonly unknown[] {
  const { client, outgoing } = step;
  const sent = new Set(outgoing.blocks.map(({ id }) => id));
  const rows: Row[] = outgoing.blocks.map((block, index) => ({
    ...{ id: idOf(block), outgoing: block, index, sign: signOf(step, block, index), edits: editsOf(step, block) },
    client: client.blocks.find(({ id }) => id === block.id) ?? null,
  }));
  for (const [index, block] of client.blocks.entries()) {
    if (sent.has(block.id)) continue;
    const before = client.blocks.slice(0, index).findLast(({ id }) => sent.has(id));
    const follows = rows.findIndex(({ outgoing: own }) => own !== null && own.id === before?.id) + 1;
    const gone = rows.slice(follows).findIndex(({ outgoing: own }) => own !== null);
    const place = gone < 0 ? rows.length : follows + gone;
    rows.splice(place, 0, {
      ...{ id: idOf(block), outgoing: null, index, sign: null, edits: editsOf(step, block) },
      client: block,
    });
  }
  return folded(rows, opened);
}

function folded(rows: readonly Row[], opened: ReadonlySet<number>): readonly unknown[] {
  const shown: unknown[] = [];
  for (let place = 0; place < rows.length; ) {
    const first = rows[place];
    const isLike = (row: Row): boolean => isQuiet(row) && row.sign === first?.sign;
    const other = rows.slice(place).findIndex((row) => !isLike(row));
    const length = other < 0 ? rows.length - place : other;
    const run = rows.slice(place, place + Math.max(1, length));
    const [from, to] = [run[0]?.index ?? 0, run.at(-1)?.index ?? 0];
    if (length >= 3 && !opened.has(from)) shown.push({ from, to, sign: first?.sign });
    else shown.push(...run);
    place += run.length;
  }
  return shown;
}

const isQuiet = ({ edits, sign, client }: Row): boolean =>
  edits.length === 0 && (sign === "held" || sign === "instructions") && client !== null;

function signOf(step: Step, block: Block, index: number): Row["sign"] {
  const { anchor, sendFrom } = step.data.decision;
  const first = instructionBlocks(step);
  if (index < first) return "instructions";
  if (anchor !== null && index - first < sendFrom) return "held";
  const before = step.newest?.turn.blocks.find(({ id }) => id === block.id);
  if (before === undefined) return "new";
  return before.recordedAs === block.recordedAs ? "again" : "changed";
}

const editsOf = ({ passes }: Step, { id }: Block): Row["edits"] =>
  passes.flatMap(({ given, handedOn }, place) => {
    const { added, removed, modified, moved } = turnDifference(given, handedOn);
    const own = (blocks: readonly Block[]): readonly Block[] => blocks.filter((block) => block.id === id);
    const layer = place + 1;
    return [
      ...own(added).map((after) => ({ layer, change: "added" as const, before: null, after })),
      ...own(removed).map((before) => ({ layer, change: "removed" as const, before, after: null })),
      ...modified
        .filter(({ after }) => after.id === id)
        .map(({ before, after }) => ({ layer, change: "modified" as const, before, after })),
      ...own(moved).map((block) => ({ layer, change: "moved" as const, before: block, after: block })),
    ];
  });
