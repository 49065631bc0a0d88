import { expect, test } from "vitest";
import { GrowingMap } from "../../src/base/growing-map.ts";
import { seeds } from "../support/cases.ts";
import { createRandom } from "../support/coherence/random.ts";

test("a growing map and its copies hold what plain maps do, whichever of them is set next", () => {
  for (const seed of seeds(60, 2_000, 200)) {
    const random = createRandom(seed);
    const pairs: (readonly [growing: GrowingMap<string, number>, plain: Map<string, number>])[] = [
      [new GrowingMap<string, number>(), new Map<string, number>()],
    ];
    for (let step = 0; step < 40; step += 1) {
      const [growing, plain] = pairs[random.below(pairs.length)] ?? [];
      if (growing === undefined || plain === undefined) continue;
      if (random.chance(0.2) && pairs.length < 6) pairs.push([growing.copy(), new Map(plain)]);
      else {
        const key = `key-${random.below(8)}`;
        // Setting what is there already is also a set.
        const value = random.chance(0.3) ? (plain.get(key) ?? step) : step;
        growing.set(key, value);
        plain.set(key, value);
      }
    }
    for (const [growing, plain] of pairs) {
      expect([...growing], `seed ${seed}`).toEqual([...plain]);
      expect([[...growing.keys()], [...growing.values()], growing.size]).toEqual([
        ...[[...plain.keys()], [...plain.values()], plain.size],
      ]);
      expect([...growing.newestFirst()], `seed ${seed}`).toEqual([...plain.values()].toReversed());
      for (let key = 0; key < 9; key += 1) {
        expect(growing.get(`key-${key}`)).toBe(plain.get(`key-${key}`));
        expect(growing.has(`key-${key}`)).toBe(plain.has(`key-${key}`));
      }
    }
  }
});

test("a growing map refuses to lose an entry, because its copies would lose it too", () => {
  const map: Map<string, number> = new GrowingMap<string, number>().set("a", 1);
  expect(() => map.delete("a")).toThrow("only grows");
  expect(() => {
    map.clear();
  }).toThrow("only grows");
});
