import { expect, test } from "vitest";
import { MovingFold } from "../../../src/apps/studio/moving-fold.ts";
import { Reel } from "../../../src/apps/studio/reel.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { seeds } from "../../support/cases.ts";
import { createRandom } from "../../support/coherence/random.ts";
import { randomConversation } from "../../support/random-conversation.ts";
import { countingLog } from "../../support/studio/counting-log.ts";

const gap = 8;

test("a fold that moves to any revision, in any order, gives what a fold from the first event gives", async () => {
  for (const seed of seeds(2, 40, 8)) {
    const { store, conversation } = await randomConversation(seed);
    const random = createRandom(seed);
    const reel = await Reel.open(store.log, conversation.id, { gap });
    const bare = await Reel.open(store.log, conversation.id, { gap: Number.MAX_SAFE_INTEGER });
    const moving = new MovingFold(store.log, reel);
    for (let look = 0; look < 24; look += 1) {
      const revision = random.below(reel.rows.length);
      const place = `seed ${seed}, revision ${revision}`;
      expect(await lookAt(moving, reel, revision), place).toEqual(
        await lookAt(new MovingFold(store.log, bare), bare, revision),
      );
    }
  }
});

/** The documents of a revision, and what `why` knows of a request there. */
async function lookAt(fold: MovingFold, { steps }: Reel, revision: number): Promise<unknown> {
  const shown = await fold.at(revision, (place, show) => ({
    ...{ document: show.documentOf(place, null), blames: [...place.past.blames], changed: place.changed },
    labels: [...place.words.labels],
  }));
  if (!steps.some((step) => step.revision === revision)) return shown;
  const asked = await fold.request(revision, codecs, ({ contextTurns, request }, { trail }) => ({
    request,
    turns: [...contextTurns].map(([id, turn]) => [id, turn.digest]),
    prompts: [...trail.prompts].map(([id, { outgoing, passes }]) => [
      id,
      outgoing.digest,
      [...(passes?.removals ?? [])],
    ]),
  }));
  return { shown, asked };
}

test("a step back reads the events from the nearest rung on, not those from the beginning", async () => {
  const { store, conversation } = await randomConversation(1);
  const counting = countingLog(store);
  const reel = await Reel.open(counting.log, conversation.id, { gap });
  const fold = new MovingFold(counting.log, reel);
  for (let revision = reel.rows.length - 1; revision >= 0; revision -= 1) {
    counting.read = 0;
    await fold.at(revision, () => null);
    expect(counting.read, `revision ${revision}`).toBeLessThanOrEqual(gap);
  }
});
