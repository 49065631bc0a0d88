import { expect, test } from "vitest";
import { KnownContexts, type ServerContext } from "../../../src/projections/server-contexts/known-contexts.ts";
import { seeds } from "../../support/cases.ts";
import { createRandom, type Random } from "../../support/coherence/random.ts";

test("copies of known contexts know what they were made of, whichever of them learns of more", () => {
  for (const seed of seeds(40, 1_000, 100)) {
    const random = createRandom(seed);
    const pairs: { readonly known: KnownContexts; readonly plain: ServerContext[] }[] = [
      { known: new KnownContexts(), plain: [] },
    ];
    for (let step = 0; step < 60; step += 1) {
      const pair = pairs[random.below(pairs.length)];
      if (pair === undefined) continue;
      if (random.chance(0.15) && pairs.length < 6) pairs.push({ known: pair.known.copy(), plain: [...pair.plain] });
      else if (random.chance(0.2)) check(pair, `seed ${seed}, step ${step}`);
      else {
        const context = drawn(random, pair.plain.length);
        pair.known.add(context);
        pair.plain.push(context);
      }
    }
    for (const pair of pairs) check(pair, `seed ${seed}`);
  }
});

function check(
  { known, plain }: { readonly known: KnownContexts; readonly plain: readonly ServerContext[] },
  place: string,
) {
  expect(known.all, place).toEqual(plain);
  expect([known.length, known.last], place).toEqual([plain.length, plain.at(-1)]);
  expect(known.after(3), place).toEqual(plain.slice(3));
  for (let n = 0; n < 5; n += 1) {
    expect(known.ofTurn(`turn-${n}`), place).toEqual(plain.filter(({ turn }) => turn === `turn-${n}`));
    expect(known.ofInference(`inf_${n}`), place).toBe(
      plain.findLast((each) => each.inferenceId === `inf_${n}`) ?? null,
    );
    const named = { scope: "here", anchor: { kind: "response", id: `resp_${n}` } };
    expect(known.byAnchor(named), place).toBe(plain.findLast(({ anchor }) => anchor?.id === `resp_${n}`) ?? null);
  }
}

function drawn(random: Random, index: number): ServerContext {
  const id = `resp_${random.below(4)}`;
  const inferenceId = `inf_${random.below(4)}`;
  return {
    ...{ responseId: id, inferenceId, stream: "conversation-cnv_1", revision: index, index, at: "", scope: "here" },
    ...{ settingsDigest: "", turn: `turn-${random.below(4)}`, held: "", inputLength: 1, length: 2, parent: null },
    anchor: random.chance(0.8) ? { kind: "response", id } : null,
    ...{ unusable: null, tokens: null },
  };
}
