import { assistant, user } from "../../../src/domain/make-block.ts";
import type { Turn } from "../../../src/domain/turn.ts";
import { broughtBy, type Layer } from "../../../src/engine/ports/middleware.ts";
import type { ScriptedAnswer } from "../../../src/providers/scripted/scripted.ts";
import type { Random } from "../coherence/random.ts";
import type { Tracked, Truth } from "../truth.ts";

/** Layers, answers and tools that do what a seed says, and say nothing twice. */
export class RandomStack {
  readonly #random: Random;
  readonly #truth: Truth;
  #words = 0;

  constructor(random: Random, truth: Truth) {
    this.#random = random;
    this.#truth = truth;
  }

  /** A text that was never said. */
  word(kind: string): string {
    this.#words += 1;
    return `${kind} ${this.#words}`;
  }

  answer(): ScriptedAnswer {
    const random = this.#random;
    const say = (kind: string): string => this.#truth.said(this.word(kind), "provider");
    if (random.chance(0.05)) return { error: { message: "refused by chance" } };
    const reasoning = random.chance(0.4) ? { reasoning: say("thought") } : {};
    const text = random.chance(0.6) ? { text: say("answer") } : {};
    const calls = Array.from({ length: random.chance(0.35) ? 1 + random.below(3) : 0 }, () => ({
      name: "look-up",
      arguments: this.#truth.said(JSON.stringify({ of: this.word("call") }), "provider"),
    }));
    const isEmpty = calls.length === 0 && text.text === undefined;
    return { ...reasoning, ...text, ...(isEmpty ? { text: say("answer") } : {}), calls };
  }

  lookUp(): string {
    return this.#truth.said(this.word("result"), "tool");
  }

  layer(name: string): Layer {
    const random = this.#random;
    const description = { name, version: "1.0.0", configDigest: "0".repeat(64) };
    return this.#truth.watch(description, async (given, next, ctx) => {
      const results: Tracked[] = [];
      let calls = random.pick([0, 1, 1, 1, 1, 1, 2, 3]);
      for (; calls > 0; calls -= 1) {
        const begun = random.chance(0.7) ? given : (results.at(-1) ?? given);
        const asked = this.#change(begun.turn, begun === given ? null : given.turn);
        const from = sourceOf(asked, begun, [given, ...results]);
        if (from !== given) ctx.from(from.turn);
        const result = random.chance(0.8) ? await next(from, asked) : await next(from, asked).catch(() => null);
        if (result !== null) results.push(result);
      }
      if (random.chance(0.03)) throw new Error("thrown by chance");
      const begun = random.chance(0.85) ? (results.at(-1) ?? given) : random.pick([given, ...results]);
      const turn = this.#change(begun.turn, given.turn);
      const from = sourceOf(turn, begun, [given, ...results]);
      if (from !== given) ctx.from(from.turn);
      // Nothing else tells that a Turn was made of what the layer was given, where it holds an answer's blocks.
      const isAnswer = from === given && results.some((result) => holdsAny(turn, broughtBy(given.turn, result.turn)));
      return isAnswer ? { from: given, turn: given.turn } : { from, turn };
    });
  }

  /** A Turn with up to three edits; `restored` is one whose versions of blocks may come back. */
  #change(turn: Turn, restored: Turn | null): Turn {
    let changed = turn;
    for (let edits = this.#random.pick([0, 0, 1, 1, 2, 3]); edits > 0; edits -= 1)
      changed = this.#edit(changed, restored);
    return changed;
  }

  #edit(turn: Turn, restored: Turn | null): Turn {
    const random = this.#random;
    const index = random.below(turn.length);
    const block = turn.at(index);
    if (block === undefined) return turn;
    switch (random.below(7)) {
      case 0:
        return turn.length > 1 ? turn.remove(block) : turn;
      case 1:
        return turn.insert(index, random.chance(0.5) ? user(this.word("inserted")) : assistant(this.word("inserted")));
      case 2:
        return turn.move(block, random.below(turn.length));
      case 3:
        return restored === null
          ? turn
          : turn.map((each) => (each.id === null ? each : (restored.find(each.id) ?? each)));
      case 4: {
        // What the provider said of it goes, what it says stays: one digest, two versions.
        const isTold = block.kind === "assistant" || block.kind === "tool_call";
        return isTold ? turn.replace(block, block.withWire(null)) : turn;
      }
      default:
        return turn.replace(
          block,
          block.withText(
            block.kind === "tool_call" ? JSON.stringify({ of: this.word("edited") }) : this.word("edited"),
          ),
        );
    }
  }
}

/** A Turn that is the very object of another is that one, however it was made. */
const sourceOf = (turn: Turn, begun: Tracked, known: readonly Tracked[]): Tracked =>
  known.findLast((tracked) => tracked.turn === turn) ?? begun;

const holdsAny = (turn: Turn, blocks: readonly { readonly id: string | null }[]): boolean => {
  const ids = new Set(blocks.map(({ id }) => id));
  return turn.blocks.some(({ id }) => ids.has(id));
};
