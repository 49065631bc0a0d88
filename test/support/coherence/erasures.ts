import type { PlannedEndpoint } from "../../../src/analysis/time-travel/past.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import type { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { Block } from "../../../src/domain/block.ts";
import { blockFromJson } from "../../../src/domain/block-json.ts";
import { blocksIn } from "../../../src/domain/events/blocks-in.ts";
import { conversationStream } from "../../../src/domain/ids.ts";
import { verification } from "../../../src/operations/audit/verify.ts";
import { ConversationDamagedError } from "../../../src/projections/damage.ts";
import { codecsWith } from "../../../src/providers/codecs.ts";
import { isUnknownAfterSkip, type Troubled } from "./operator.ts";
import { createRandom, type Random } from "./random.ts";
import { changedReadings, readingsOf } from "./readings.ts";

const why = { by: "dpo", ground: "gdpr-17" } as const;

/** What is erased from the conversations of a world, between runs: a block of the Turn, or of the past, in every version. */
export class Erasures {
  readonly #random: Random;
  readonly #of: Troubled;
  readonly #isQuiet: boolean;
  /** Draws what is read before and after, so that the other draws of a seed stay what they are. */
  readonly #reading: Random;

  constructor(of: Troubled, share: number) {
    this.#of = of;
    this.#random = createRandom(of.seed + 0xe4a5);
    this.#reading = createRandom(of.seed + 0x4ead);
    this.#isQuiet = !this.#random.chance(share);
  }

  /** @param endpoint - That of the last run, for which the next request is planned; null before the first one. */
  async between(store: TurnlogStore, conversation: Conversation, endpoint: PlannedEndpoint | null): Promise<void> {
    if (this.#isQuiet || !this.#random.chance(0.6)) return;
    if ((await store.events.head(conversationStream(conversation.id))) === null) return;
    if ((await conversation.at(-1)).run !== null) return;
    const versions = await versionsIn(conversation);
    const { speech } = this.#of;
    // Texts of the engine are said more than once, so that the judge could not tell which of them a server holds.
    const lasting = new Set(versions.flatMap((block) => (speech.nonceOf(block) === null ? [block.id] : [])));
    const erasable = versions.filter((block) => !block.isErased && !lasting.has(block.id));
    if (erasable.length === 0) return;
    const { id } = this.#random.pick(erasable);
    if (id === null) return;
    const open = await runsIn(store);
    const plan = await store
      .planErasure({ blocks: [{ conversation: conversation.id, block: id }] })
      .catch((error: unknown) => {
        // A fork may have been made from the middle of a run.
        if (open > 0 && error instanceof Error && "code" in error && error.code === "erasure-refused") return null;
        throw error;
      });
    if (plan === null) return;
    const before = (await allVersions(store)).filter((block) => !block.isErased);
    const readings = await readingsOf(store, { random: this.#reading, endpoint });
    const receipt = await store.erase(plan, why);
    this.#of.tally.erasures += 1;
    this.#of.tally.erasedLines += receipt.done.lines;
    const after = await allVersions(store);
    const erased = new Set(after.filter(({ isErased }) => isErased).map(({ recordedAs }) => recordedAs));
    const due = new Set(before.flatMap((each) => (each.id === id ? [each.recordedAs] : [])));
    const left = after.filter(({ isErased }) => !isErased);
    for (const each of before) {
      if (!erased.has(each.recordedAs)) continue;
      speech.erase(each, left);
      if (!due.has(each.recordedAs)) this.#of.blame(`${id} was to be erased, and ${each.id} is erased`);
    }
    if (left.some((each) => each.id === id)) this.#of.blame(`${id} was erased, and a version of it is still there`);
    this.#of.tally.readings += readings.size;
    const { hasLostSettings, hasSkippedSettings } = speech;
    const lost = { hasLostSettings, hasSkippedSettings, saysGone: (text: string) => speech.saysGone(text) };
    for (const changed of await changedReadings(readings, lost)) this.#of.blame(`after ${id} was erased, ${changed}`);
  }

  async end(store: TurnlogStore): Promise<void> {
    if (this.#isQuiet) return;
    const { problems } = await verification(store.events, { codecs: codecsWith(this.#of.dialect.codecs) });
    const [problem] = problems.filter((each) => !(this.#of.speech.hasSkips && isUnknownAfterSkip(each)));
    if (problem !== undefined) this.#of.blame(`verify: ${JSON.stringify(problem)}`);
  }
}

/** Every version of every block of a conversation and its ancestors. */
async function versionsIn(conversation: Conversation): Promise<readonly Block[]> {
  const versions: Block[] = [];
  for await (const { event } of conversation.history()) versions.push(...blocksIn(event).map(blockFromJson));
  return versions;
}

async function allVersions(store: TurnlogStore): Promise<readonly Block[]> {
  const versions: Block[] = [];
  for await (const id of store.conversations())
    versions.push(...(await unlessDamaged(() => versionsIn(store.conversation(id)), [])));
  return versions;
}

/** How many runs may be open. */
async function runsIn(store: TurnlogStore): Promise<number> {
  let open = 0;
  for await (const id of store.conversations())
    if (await unlessDamaged(async () => (await store.conversation(id).at(-1)).run !== null, true)) open += 1;
  return open;
}

/** A fork may not follow any more after a skip in its parent: then nothing can be read of it until its own events are skipped. */
async function unlessDamaged<Found>(read: () => Promise<Found>, otherwise: Found): Promise<Found> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ConversationDamagedError) return otherwise;
    throw error;
  }
}
