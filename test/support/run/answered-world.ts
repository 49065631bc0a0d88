import { expect } from "vitest";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { type Block, idOf } from "../../../src/domain/block.ts";
import type { Turn } from "../../../src/domain/turn.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import type { Engine } from "../../../src/engine/options/engine.ts";
import type { Layer } from "../../../src/engine/ports/middleware.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { createRandom, type Random } from "../coherence/random.ts";
import { takeSnapshots } from "../log/take-snapshots.ts";
import { snapshotsOf } from "../stores/snapshots-of.ts";
import { rejectionOf } from "../workshop.ts";
import { layer } from "./scene.ts";

const conversationId = "cnv_answered";
const stream = `conversation-${conversationId}`;

/** How often each thing was drawn, over all histories. */
export type AnsweredTally = Record<
  "asked" | "given" | "givenByKey" | "again" | "pending" | "failed" | "reverts" | "compactions" | "edits" | "erased",
  number
>;

/**
 * One drawn history of a conversation, in which any process acts next: one that has been there from the beginning, one that folds all
 * events, and one that begins at a snapshot after any event. What each may do follows from what happened alone (rule: Answered once), by
 * books that this file keeps itself.
 */
export async function playAnswered(seed: number, tally: AnsweredTally): Promise<void> {
  const world = new AnsweredWorld(createRandom(seed), tally);
  for (let step = 0; step < 24; step += 1) await world.act();
  await world.verify();
}

class AnsweredWorld {
  readonly #random: Random;
  readonly #tally: AnsweredTally;
  readonly #events = createMemoryStore();
  readonly #first = new TurnlogStore(this.#events);
  #asked = 0;
  #keys = 0;
  /** What a run answered each appended block with: the first one that completed with it. */
  readonly #answers = new Map<string, string>();
  /** What the newest run that ended with a block answered. */
  readonly #ends = new Map<string, string>();
  readonly #blockOfKey = new Map<string, string>();
  /** What the engine appended itself since a run completed. */
  readonly #notes = new Set<string>();
  /** A message to append while the next request is answered. */
  #meanwhile: (() => Promise<unknown>) | null = null;
  #fails = false;

  constructor(random: Random, tally: AnsweredTally) {
    this.#random = random;
    this.#tally = tally;
  }

  async act(): Promise<void> {
    const conversation = await this.#someone();
    const draw = this.#random.below(20);
    if (draw < 6) await this.#append(conversation);
    else if (draw < 11) await this.#run(conversation);
    else if (draw < 13) await this.#runByKey(conversation);
    else if (draw < 14) await this.#runAgain(conversation);
    else if (draw < 15) await this.#failRun(conversation);
    else if (draw < 18) await this.#revert(conversation);
    else if (draw < 19) await this.#compact(conversation);
    else await this.#erase(conversation);
  }

  /** Snapshots at any place, and none, verify as sound. */
  async verify(): Promise<void> {
    await this.#snapshot();
    expect((await this.#first.verify()).problems).toEqual([]);
  }

  async #someone(): Promise<Conversation> {
    if (this.#random.chance(0.3)) return this.#first.conversation(conversationId);
    await snapshotsOf(this.#events).deleteAll();
    if (this.#random.chance(0.7)) await this.#snapshot();
    return new TurnlogStore(this.#events).conversation(conversationId);
  }

  async #snapshot(): Promise<void> {
    if ((await this.#turn()).length === 0) return;
    await takeSnapshots(this.#events, stream, { events: 1 + this.#random.below(12), edits: 5 });
  }

  #turn(): Promise<Turn> {
    return this.#first.conversation(conversationId).turn();
  }

  async #append(conversation: Conversation): Promise<void> {
    this.#keys += 1;
    const key = `key ${this.#keys}`;
    const { blocks } = await conversation.append(`message ${this.#keys}`, { key });
    for (const block of blocks) this.#blockOfKey.set(key, idOf(block));
  }

  /** What the log has to say of the Turn: the answer to give again, or null if a model has to be asked. */
  #answerTo({ blocks }: Turn): string | null {
    const told = blocks.filter((block) => !this.#notes.has(idOf(block)));
    const last = told.at(-1);
    const message = told.findLast(isMessage);
    if (last === undefined || isMessage(last) || (message !== undefined && !this.#answers.has(idOf(message))))
      return null;
    return this.#ends.get(idOf(last)) ?? null;
  }

  async #run(conversation: Conversation): Promise<void> {
    const before = await this.#turn();
    if (before.length === 0) return;
    const answer = this.#answerTo(before);
    const asked = this.#asked;
    const change = this.#random.chance(0.25) ? this.#draft() : null;
    if (answer === null && this.#random.chance(0.2)) this.#meanwhile = () => this.#append(conversation);
    const result = await conversation.run(this.#engine(change));
    this.#meanwhile = null;
    if (answer === null) return this.#completed(before, result.text, { isNew: result.isNew, asked });
    expect({ isNew: result.isNew, text: result.text, asked: this.#asked }).toEqual({
      isNew: false,
      text: answer,
      asked,
    });
    this.#tally.given += 1;
  }

  async #runByKey(conversation: Conversation): Promise<void> {
    const before = await this.#turn();
    const drawn = [...this.#blockOfKey];
    if (drawn.length === 0) return;
    const [key, block] = this.#random.pick(drawn);
    const asked = this.#asked;
    const answer = this.#answers.get(block);
    if (answer === undefined && !before.blocks.some((each) => idOf(each) === block)) {
      expect(await rejectionOf(conversation.run(this.#engine(null), { key }))).toMatchObject({
        code: "message-not-found",
      });
      return;
    }
    const result = await conversation.run(this.#engine(null), { key });
    if (answer === undefined) return this.#completed(before, result.text, { isNew: result.isNew, asked });
    expect({ isNew: result.isNew, text: result.text, asked: this.#asked }).toEqual({
      isNew: false,
      text: answer,
      asked,
    });
    this.#tally.givenByKey += 1;
  }

  async #runAgain(conversation: Conversation): Promise<void> {
    const before = await this.#turn();
    if (before.length === 0) return;
    const asked = this.#asked;
    const result = await conversation.run(this.#engine(null), { again: true });
    await this.#completed(before, result.text, { isNew: result.isNew, asked });
    this.#tally.again += 1;
  }

  async #failRun(conversation: Conversation): Promise<void> {
    const before = await this.#turn();
    if (before.length === 0 || this.#answerTo(before) !== null) return;
    this.#fails = true;
    await rejectionOf(conversation.run(this.#engine(null)));
    this.#fails = false;
    await this.#learnNotes();
    this.#tally.failed += 1;
  }

  /** A completed run answered all messages that it had before it, and ended with the block before those that came meanwhile. */
  async #completed(
    before: Turn,
    text: string,
    run: { readonly isNew: boolean; readonly asked: number },
  ): Promise<void> {
    expect({ isNew: run.isNew, asked: this.#asked, text }).toEqual({
      isNew: true,
      asked: run.asked + 1,
      text: this.#text(),
    });
    await this.#learnNotes();
    const { blocks } = await this.#turn();
    for (const block of [...before.blocks, ...blocks.filter((each) => this.#notes.has(idOf(each)))])
      if (isMessage(block) && !this.#answers.has(idOf(block))) this.#answers.set(idOf(block), text);
    const last = blocks.findLast((block) => !isMessage(block));
    if (last !== undefined) this.#ends.set(idOf(last), text);
    if (last !== blocks.at(-1)) this.#tally.pending += 1;
    this.#notes.clear();
    this.#tally.asked += 1;
  }

  async #learnNotes(): Promise<void> {
    const known = new Set(this.#blockOfKey.values());
    for (const block of (await this.#turn()).blocks)
      if (isMessage(block) && !known.has(idOf(block)) && !this.#answers.has(idOf(block))) this.#notes.add(idOf(block));
  }

  async #revert(conversation: Conversation): Promise<void> {
    const head = (await conversation.head())?.revision ?? -1;
    if (head < 1) return;
    const { exchanges } = await this.#turn();
    if (this.#random.chance(0.5) && exchanges.length > 0)
      await conversation.revertToExchange(this.#random.below(exchanges.length));
    // Between two runs there is a Turn to go back to; in the middle of one there is none.
    else
      await rejectionOf(
        conversation.revertTo(this.#random.below(head + 1)).then(() => Promise.reject(new Error("done"))),
      );
    this.#tally.reverts += 1;
  }

  async #compact(conversation: Conversation): Promise<void> {
    if ((await this.#turn()).length === 0) return;
    await conversation.compact({ how: "drop-exchanges", keep: 1 + this.#random.below(2) });
    this.#tally.compactions += 1;
  }

  async #erase(conversation: Conversation): Promise<void> {
    const messages = (await this.#turn()).blocks.filter(isMessage);
    if (messages.length === 0) return;
    const plan = await this.#first.planErasure({
      blocks: [{ conversation: conversation.id, block: idOf(this.#random.pick(messages)) }],
    });
    await this.#first.erase(plan, { by: "dpo", ground: "asked" });
    this.#tally.erased += 1;
  }

  /** A layer that edits an earlier block for good, or takes the message away that it answered. */
  #draft(): Layer {
    this.#tally.edits += 1;
    const drawn = this.#random.below(3);
    if (drawn === 0) return layer("upper", (turn, next) => next(changedFirst(turn)));
    if (drawn === 1) return layer("forget", async (turn, next) => withoutFirst(await next(turn)));
    return layer("swallow", async (turn, next) => withoutLast(await next(turn)));
  }

  #text(): string {
    return `answer ${this.#asked}`;
  }

  #engine(change: Layer | null): Engine {
    const provider = scripted(() => this.#text());
    return createEngine({
      provider: {
        ...provider,
        infer: async (request) => {
          if (this.#fails) throw new ProviderError("gone", { kind: "connection", outcome: "unknown" });
          this.#asked += 1;
          await this.#meanwhile?.();
          this.#meanwhile = null;
          return provider.infer(request);
        },
      },
      mode: "stateless",
      interruptionNote: true,
      ...(change === null ? {} : { middleware: [change] }),
    });
  }
}

/** Blocks that were appended, rather than made in a run. */
const isMessage = (block: Block): boolean => idOf(block).startsWith("blk_");

function changedFirst(turn: Turn): Turn {
  const first = turn.blocks.find(({ kind }) => kind === "user");
  return first === undefined ? turn : turn.replace(first, first.withText(`${first.text}!`));
}

/** Without its first message, which may be its only one. */
function withoutFirst(turn: Turn): Turn {
  const first = turn.blocks.find(isMessage);
  return first === undefined ? turn : turn.remove(first);
}

/** Without its last message, which may be its only one. */
function withoutLast(turn: Turn): Turn {
  const last = turn.blocks.findLast(isMessage);
  return last === undefined ? turn : turn.remove(last);
}
