import * as z from "zod";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { conversationStream } from "../../../src/domain/ids.ts";
import { decodeData } from "../../../src/log/codec/data.ts";
import { forksOf } from "../../../src/log/history/lineage.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { ConversationDamagedError } from "../../../src/projections/damage.ts";
import type { Dialect } from "../dialect.ts";
import { damages } from "../log/damaged-copy.ts";
import { createDamagingStore, type DamagingStore } from "../log/damaging-store.ts";
import type { Random } from "./random.ts";
import type { Speech } from "./speech.ts";
import type { Tally } from "./tally.ts";

/** A world that something befalls. */
export type Troubled = {
  readonly seed: number;
  readonly speech: Speech;
  readonly dialect: Dialect;
  readonly tally: Tally;
  readonly blame: (what: string) => void;
};

type Skip = {
  readonly hasSkipped: boolean;
  /** Whether the skip ended the open run. */
  readonly hasEndedRun: boolean;
  /** Whether the operator skipped in an ancestor only, and the fork no longer follows from what is left. */
  readonly leavesForkDamaged: boolean;
};

/** What the operator may do about a damaged event. */
export type HowToSkip = {
  /** Whether the operator may try to fork around the damage. */
  readonly mayForkBefore: boolean;
  /** Whether the operator may skip in an ancestor without looking at the fork. */
  readonly mayLeaveFork: boolean;
};

type Place = { readonly revision: number; readonly type: string };
type Stretch = { readonly stream: string; readonly places: readonly Place[] };

const skipSchema = z.object({ revision: z.int() });

/** Of a request whose settings were skipped, what it continued from, or what a warm-up showed, verify says that it cannot be made again. */
export const isUnknownAfterSkip = ({ kind, message }: { readonly kind: string; readonly message: string }): boolean =>
  kind === "request" &&
  /^its (settings .* were not declared|anchor .* is not a response of this conversation|Turn has a different number of blocks)$/.test(
    message,
  );

/** A store whose events become damaged, and the operator who skips them then. */
export class Operator {
  readonly #random: Random;
  readonly #of: Troubled;
  readonly #store: DamagingStore = createDamagingStore();
  /** Whether anything was skipped in this world. */
  hasSkippedAny = false;

  constructor(of: Troubled, random: Random) {
    this.#of = of;
    this.#random = random;
  }

  get events(): DamagingStore["events"] {
    return this.#store.events;
  }

  /** The events as they were written. */
  get sound(): DamagingStore["sound"] {
    return this.#store.sound;
  }

  /** A process that sees the events for the first time. */
  process(): TurnlogStore {
    return this.#processOf(this.events);
  }

  /** One that has no snapshots: what they cover would be read by nobody, damage among it. */
  reader(): TurnlogStore {
    const { snapshots: _, ...events } = this.events;
    return this.#processOf(events);
  }

  #processOf(events: EventStore): TurnlogStore {
    return new TurnlogStore({ ...events, close: async () => undefined }, { codecs: this.#of.dialect.codecs });
  }

  /** Somewhere in what the conversation is read as, an event is damaged; who reads it is told, until it is skipped with all that follows. */
  async damageAndSkip(conversation: Conversation, { mayForkBefore, mayLeaveFork }: HowToSkip): Promise<Skip> {
    const random = this.#random;
    const nothing: Skip = { hasSkipped: false, hasEndedRun: false, leavesForkDamaged: false };
    const lineage = await this.#lineage(conversation);
    if (lineage.length === 0) return nothing;
    // The conversation's own stretch is the last one.
    const ancestors = mayLeaveFork ? lineage.slice(0, -1) : [];
    const of = random.pick(ancestors.length > 0 && random.chance(0.5) ? ancestors : lineage);
    const type = random.pick([...new Set(of.places.map((each) => each.type))]);
    const { revision } = random.pick(of.places.filter((each) => each.type === type));
    const before = await this.openRunIn(conversation);
    await using holder = this.process();
    const held = holder.conversation(conversation.id);
    await held.turn();
    this.#store.damage(of.stream, revision, random.pick(Object.values(damages)));
    await using reader = this.reader();
    const found = await reader
      .conversation(conversation.id)
      .turn()
      .then(
        () => null,
        (error: unknown) => error,
      );
    if (!(found instanceof ConversationDamagedError)) {
      this.#of.blame(`${type} at ${revision} of ${of.stream} is damaged, and the Turn was given: ${String(found)}`);
      return nothing;
    }
    if (mayForkBefore && random.chance(0.3)) await this.#forkOfDamaged(reader, found);
    const isOwn = of.stream === conversationStream(conversation.id);
    if (isOwn) this.#of.tally.skips += 1;
    else this.#of.tally.parentSkips += 1;
    if (!isOwn && mayLeaveFork && random.chance(0.7)) {
      await this.heal({ id: of.stream.slice("conversation-".length) });
      const isDamaged = await this.#isDamaged(conversation);
      if (isDamaged !== (await isDamagedIn(held)))
        this.#of.blame(
          `a skip in ${of.stream} left a fork ${isDamaged ? "damaged" : "sound"}, and not where it was held open`,
        );
      if (isDamaged) return { ...nothing, hasSkipped: true, leavesForkDamaged: true };
    }
    await this.heal(conversation);
    await this.#compareHeld(held);
    const after = await this.openRunIn(conversation);
    return { ...nothing, hasSkipped: true, hasEndedRun: before !== null && before !== after };
  }

  async #isDamaged({ id }: Conversation): Promise<boolean> {
    await using reader = this.reader();
    return await isDamagedIn(reader.conversation(id));
  }

  /** A process that held the conversation all the time shows it as one that reads all of it now. */
  async #compareHeld(held: Conversation): Promise<void> {
    await using reader = this.reader();
    const [there, here] = await Promise.all([reader.conversation(held.id), held].map((each) => each.turn()));
    if (there?.digest !== here?.digest) this.#of.blame(`${held.id} is another one after a skip where it was held open`);
  }

  /** The run that the log has open, for a process that has just begun. */
  async openRunIn({ id }: Conversation): Promise<string | null> {
    await using others = this.process();
    return (await others.conversation(id).at(-1)).run?.id ?? null;
  }

  /** A fork from behind the damage is refused, and one from before it goes on. */
  async #forkOfDamaged(store: TurnlogStore, { stream, revision }: ConversationDamagedError): Promise<void> {
    if (stream === null || revision === null) return;
    const damaged = store.conversation(stream.slice("conversation-".length));
    const refused = await damaged.fork(revision).catch((error: unknown) => error);
    if (!(refused instanceof ConversationDamagedError)) this.#of.blame("a fork was made of what is damaged");
    if (revision === 0) return;
    const fork = await damaged.fork(revision - 1);
    await fork.turn();
    this.#of.tally.damagedForks += 1;
  }

  /** The operator skips, one after another, what the conversation stops at. */
  async heal({ id }: { readonly id: string }): Promise<void> {
    for (let times = 0; times < 50; times += 1) {
      await using others = this.process();
      await using reader = this.reader();
      try {
        await reader.conversation(id).turn();
        return;
      } catch (error) {
        if (!(error instanceof ConversationDamagedError) || error.stream === null || error.revision === null)
          throw error;
        const damaged = others.conversation(error.stream.slice("conversation-".length));
        const { skipped } = await damaged.skipEvent(error.revision, "found damaged", { allThatFollow: true });
        this.hasSkippedAny = true;
        this.#of.speech.hasSkips = true;
        await this.#noteUnknown(error.stream, skipped);
      }
    }
    this.#of.blame(`${id} is damaged still, whatever is skipped`);
  }

  /** The model of reasoning whose settings were skipped is unknown: turnlog leaves it out, and with it what belongs to it. */
  async #noteUnknown(stream: string, skipped: readonly number[]): Promise<void> {
    for await (const { revision, type } of this.sound.readStream(stream))
      if (type === "SettingsDeclared" && skipped.includes(revision)) {
        this.#of.speech.hasSkippedSettings = true;
        this.#of.speech.hostedMayBeMissing = true;
        this.#of.speech.reasoningMayBeMissing = true;
      }
  }

  /** The streams that a conversation is read from, each with what is read of it: revisions, and types as they were written. */
  async #lineage(conversation: Conversation): Promise<readonly Stretch[]> {
    await using others = this.process();
    const own = conversationStream(conversation.id);
    const stretches: Stretch[] = [];
    for (const { stream, revision: to } of [...(await forksOf(others.log, own)), { stream: own, revision: Infinity }]) {
      // A skip holds for whatever becomes of its event, also where the event reads again because others were skipped since.
      const skipped = new Set<unknown>();
      for await (const envelope of this.sound.readStream(stream))
        if (envelope.type === "EventSkipped") skipped.add(skipSchema.parse(decodeData(envelope).data).revision);
      const places: Place[] = [];
      for await (const { revision, type } of this.sound.readStream(stream))
        if (revision <= to && !skipped.has(revision)) places.push({ revision, type });
      if (places.length > 0) stretches.push({ stream, places });
    }
    return stretches;
  }
}

const isDamagedIn = (conversation: Conversation): Promise<boolean> =>
  conversation.turn().then(
    () => false,
    (error: unknown) => error instanceof ConversationDamagedError,
  );
