import type { Conversation } from "../../conversation/conversation.ts";
import { changesEarlier } from "../../domain/events/changes-earlier.ts";
import { isHole } from "../../domain/events/recorded.ts";
import { conversationStream } from "../../domain/ids.ts";
import type { RunPart } from "../../engine/options/run-part.ts";
import { ChatFold } from "./chat-fold.ts";
import { type LiveChannel, type LiveData, LiveLine } from "./live-channel.ts";
import { LiveText } from "./live-text.ts";
import type { DataChunk } from "./ui-chunk.ts";
import { answerIdOf, type Shown } from "./ui-messages.ts";
import type { UiAnswer } from "./ui-steps.ts";

/** How many things that layers and tools show are kept for readers that lag. */
const mostData = 200;

/**
 * One conversation as all pages of this process watch it: what the log has, and what arrives. Pages read its newest state as fast as they
 * can, so a slow one costs no memory.
 */
export class ChatWatch {
  readonly conversation: Conversation;
  readonly #live = new LiveText();
  readonly #line: LiveLine | null;
  #fold: ChatFold;
  #shown: readonly Shown[] | null = null;
  /** How far the log was read, skipped events included. */
  #readTo = -1;
  #changed = Promise.withResolvers<null>();
  #following: AbortController | null = null;
  #isFailed = false;
  #failure: unknown = null;
  readonly #data: DataChunk[] = [];
  #dataCount = 0;
  #watchers = 0;
  #runs = 0;

  constructor(conversation: Conversation, channel: LiveChannel | null) {
    this.conversation = conversation;
    this.#fold = this.#newFold();
    this.#line =
      channel === null
        ? null
        : new LiveLine({
            ...{ channel, conversation: conversation.id, live: this.#live },
            ...{ isRunning: () => this.#runs > 0, onPieces: () => this.#tell() },
            onData: (data) => this.#show(data),
          });
  }

  get isWatched(): boolean {
    return this.#watchers > 0;
  }

  get isFailed(): boolean {
    return this.#isFailed;
  }

  /** The log so far, and its newest state once `upToNow` resolved. */
  get fold(): ChatFold {
    return this.#fold;
  }

  /** Resolves with the next change, of the log or of what arrives. */
  get changed(): Promise<null> {
    return this.#changed.promise;
  }

  enter(): void {
    this.#watchers += 1;
    if (this.#following !== null) return;
    this.#following = new AbortController();
    this.#line?.listen();
    void this.#follow(this.#following.signal);
  }

  leave(): void {
    this.#watchers -= 1;
    if (this.#watchers > 0) return;
    this.#following?.abort();
    this.#following = null;
    this.#line?.leave();
  }

  /**
   * Waits until the log has been read as far as it goes now.
   *
   * @throws what the reading failed with.
   */
  async upToNow(): Promise<ChatFold> {
    const head = await this.conversation.head();
    for (;;) {
      const { changed } = this;
      if (this.#isFailed) throw this.#failure;
      if (head === null || this.#readTo >= head.revision) return this.#fold;
      await changed;
    }
  }

  /** Waits until something is so, or the time is up. */
  async until(isSo: () => boolean, ms: number): Promise<void> {
    const late = Promise.withResolvers<null>();
    const state = { isLate: false };
    const timer = setTimeout(() => {
      state.isLate = true;
      late.resolve(null);
    }, ms);
    for (let { changed } = this; !isSo() && !state.isLate && !this.#isFailed; { changed } = this)
      await Promise.race([changed, late.promise]);
    clearTimeout(timer);
  }

  begin(): void {
    this.#runs += 1;
  }

  end(): void {
    this.#runs -= 1;
    this.#tell();
  }

  /** A part of a run of this process. */
  take(part: RunPart): void {
    if (part.type === "data") {
      const data = { name: part.name, data: part.data, call: part.call?.id ?? null };
      this.#show(data);
      this.#line?.show(data);
      return;
    }
    const piece = this.#live.pieceOf(part);
    if (piece === null) return;
    this.#live.take(piece);
    this.#line?.tell(piece);
    this.#tell();
  }

  /** How many things layers and tools have shown so far. */
  get dataCount(): number {
    return this.#dataCount;
  }

  /** What they have shown since; of a reader that lags, the newest. */
  dataSince(count: number): readonly DataChunk[] {
    const since = this.#dataCount - count;
    return since === 0 ? [] : this.#data.slice(-since);
  }

  get shown(): readonly Shown[] {
    this.#shown ??= this.#fold.shown();
    return this.#shown;
  }

  /** The answer to a message so far, with what arrives of it; null if the message is not there, or waits for the end of a run. */
  answerTo(asked: string | null): UiAnswer | null {
    if (asked !== null && !this.#fold.has(asked)) return null;
    const at = this.shown.findIndex((each) => each.kind === "user" && each.block.id === asked);
    // Messages that were sent together have one answer, which comes after the last of them.
    const next = this.shown.slice(at + 1).findIndex(({ kind }) => kind === "answer");
    const between = this.shown.slice(at + 1, next < 0 ? undefined : at + 1 + next);
    const together = between.filter((each) => each.kind === "user" && this.#fold.has(each.block.id ?? ""));
    const last = together.at(-1);
    const id = answerIdOf(last?.kind === "user" ? (last.block.id ?? "") : (asked ?? "start"));
    const answer = this.shown.find((each) => each.kind === "answer" && each.id === id);
    const steps = answer?.kind === "answer" ? answer.steps : [];
    const { request } = this.#fold;
    const isRunning = request !== null && answerIdOf(this.#fold.asked() ?? "start") === id;
    const arriving = isRunning ? this.#live.stepOf(request) : [];
    return { id, steps: arriving.length === 0 ? steps : [...steps, arriving] };
  }

  /** Whether a later message has come into the Turn, so that the answer to this one is complete. */
  isPast(asked: string | null): boolean {
    if (asked === null || !this.#fold.has(asked)) return false;
    return this.answerTo(asked)?.id !== answerIdOf(this.#fold.asked() ?? "start");
  }

  async #follow(signal: AbortSignal): Promise<void> {
    try {
      let isFolded = this.#fold.revision >= 0;
      for (let rebuiltTo = -1; !signal.aborted; ) {
        if (!isFolded) await this.#readHistory(signal);
        const changedAt = await this.#readOn(signal, rebuiltTo);
        if (changedAt === null) return;
        // Something was skipped or erased: what was folded before may hold it.
        [rebuiltTo, isFolded] = [changedAt, false];
      }
    } catch (error) {
      if (signal.aborted) return;
      [this.#isFailed, this.#failure] = [true, error];
      this.#tell();
    }
  }

  async #readHistory(signal: AbortSignal): Promise<void> {
    const fold = this.#newFold();
    for await (const recorded of this.conversation.history()) fold.take(recorded);
    if (signal.aborted) return;
    this.#fold = fold;
    this.#tellRead(fold.revision);
  }

  /** Reads every new event. Returns the revision after which the fold has to be made anew; null at the end. */
  async #readOn(signal: AbortSignal, rebuiltTo: number): Promise<number | null> {
    for await (const read of this.conversation.follow(this.#fold.revision + 1, signal)) {
      // Another page may have come meanwhile, whose reading begins from here.
      if (signal.aborted) return null;
      const isChange = isHole(read) || changesEarlier(read.event);
      if (isChange && read.revision > rebuiltTo) return read.revision;
      if (!isHole(read)) this.#fold.take(read);
      this.#tellRead(read.revision);
    }
    return null;
  }

  #show({ name, data, call }: LiveData): void {
    const id = call === null ? {} : { id: call };
    this.#data.push({ type: `data-${name}`, data, ...id, transient: true });
    this.#dataCount += 1;
    if (this.#data.length > mostData) this.#data.shift();
    this.#tell();
  }

  #newFold(): ChatFold {
    return new ChatFold(conversationStream(this.conversation.id));
  }

  #tellRead(revision: number): void {
    this.#readTo = Math.max(this.#readTo, revision);
    this.#shown = null;
    this.#tell();
  }

  #tell(): void {
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers();
    resolve(null);
  }
}
