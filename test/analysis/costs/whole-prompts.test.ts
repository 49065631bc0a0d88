import { expect, test } from "vitest";
import { cacheTrailReader } from "../../../src/analysis/costs/cache-trail.ts";
import { unitsOf } from "../../../src/analysis/costs/prompt-cache/cache-prompt.ts";
import { cacheWire } from "../../../src/analysis/costs/prompt-cache/cache-wire.ts";
import { detailsOfWhole } from "../../../src/analysis/costs/prompt-cache/placed-details.ts";
import { type SentPrompt, wholeInput } from "../../../src/analysis/costs/sent-prompt.ts";
import { WholePrompts } from "../../../src/analysis/costs/whole-prompts.ts";
import { findRequest } from "../../../src/analysis/time-travel/find-request.ts";
import { objectOf, parseJson } from "../../../src/base/json.ts";
import { sha256OfPair } from "../../../src/base/sha256.ts";
import { utf8Length } from "../../../src/base/utf8.ts";
import type { Codec } from "../../../src/engine/ports/codec.ts";
import { SkippedEvents } from "../../../src/log/history/skipped-events.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { seeds } from "../../support/cases.ts";
import { createRandom } from "../../support/coherence/random.ts";
import { randomConversation } from "../../support/random-conversation.ts";

/** Responses sends each block as an item of its own, chat completions joins blocks in messages. */
const names = ["openai-responses/1", "chat/1"] as const;

test.each(seeds(3, 200, 20))(
  "the prompts of drawn conversation %i have the units of their whole bodies, in whatever order they are looked at",
  async (seed) => {
    const { store, conversation, engine } = await randomConversation(seed);
    // The drawn layers end every chain; these requests continue from one another.
    const plain = engine({ provider: scripted(({ requestNumber }) => `Answer ${requestNumber}`) });
    for (const text of ["One.", "Two.", "Three."]) {
      await conversation.append(text);
      await conversation.run(plain);
    }
    const { follow, trail } = cacheTrailReader();
    const stream = `conversation-${conversation.id}`;
    const skipped = new SkippedEvents();
    await findRequest(store.log, { ...{ stream, codecs, skipped, follow }, revision: null, orBefore: true });
    const prompts = [...trail().prompts.values()];
    expect(prompts.filter(({ before }) => before !== null).length).toBeGreaterThan(1);
    const random = createRandom(seed);
    for (const name of names) {
      const codec = codecs.get(name) ?? expect.fail(`no codec ${name}`);
      const wholes = new WholePrompts();
      const looks = Array.from({ length: 2 * prompts.length }, () => prompts[random.below(prompts.length)]);
      for (const prompt of [...prompts, ...looks, ...prompts.toReversed()]) {
        if (prompt === undefined) continue;
        const { parts, units } = wholeOf(prompt, codec);
        const place = `seed ${seed}, ${name}, revision ${prompt.recorded.revision}`;
        const kept = wholes.of(prompt, codec);
        expect(kept.units, place).toEqual(units);
        expect(kept.prefixes, place).toEqual(chained(units.map(({ digest }) => digest)));
        const fewer = { ...parts, input: parts.input.slice(random.below(2)) };
        expect(wholes.bytesOf(prompt, codec, fewer), place).toBe(
          name === "chat/1" ? null : utf8Length(codec.encodeRequest(fewer)),
        );
      }
      const reversed = new WholePrompts();
      for (const prompt of prompts.toReversed())
        expect(reversed.of(prompt, codec).units, `seed ${seed}, ${name}, from the end`).toEqual(
          wholeOf(prompt, codec).units,
        );
    }
  },
);

/** From the body that the codec encodes of everything, and from nothing that is kept. */
function wholeOf(prompt: SentPrompt, codec: Codec) {
  const { input, placed } = wholeInput(prompt, codec, { held: () => undefined, lengthOf: () => 0 });
  const { settings, request } = prompt;
  const { transport } = request.decision;
  const parts = { settings, input, anchor: null, transport, details: detailsOfWhole(placed) };
  const body = objectOf(parseJson(codec.encodeRequest(parts)));
  const wire = cacheWire(codec.family) ?? expect.fail(`no wire of ${codec.family}`);
  return { parts, units: unitsOf(wire, { settings, body }) };
}

function chained(digests: readonly string[]): readonly string[] {
  const prefixes: string[] = [];
  for (const digest of digests)
    prefixes.push(prefixes.length === 0 ? digest : sha256OfPair(prefixes.at(-1) ?? "", digest));
  return prefixes;
}
