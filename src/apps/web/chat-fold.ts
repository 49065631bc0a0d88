import type { Block } from "../../domain/block.ts";
import { blockFromJson } from "../../domain/block-json.ts";
import { type Labels, relabel } from "../../domain/decider/labels.ts";
import { isRunEnd, type RunEnd } from "../../domain/events/event.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { ApprovalRequestedData } from "../../domain/events/tool-events.ts";
import { isAside } from "../../domain/frame.ts";
import { entersTurn } from "../../projections/client-turn/apply-to-turns.ts";
import { type ClientTurnView, clientTurn } from "../../projections/client-turn/client-turn.ts";
import { type Waiting, waitingIn } from "../../projections/views/waiting.ts";
import { type CallState, noteCall } from "./call-states.ts";
import { type Shown, shownOf } from "./ui-messages.ts";

/** A request of the open run, as the log names it: what arrives for another one is not shown. */
export type OpenRequest = { readonly runId: string; readonly frame: string; readonly attempt: number };

/** A conversation as a page shows it, as a fold over its events: the Turn, what is known of its calls, and how far the open run has come. */
export class ChatFold {
  readonly #stream: string;
  readonly #client: ClientTurnView;
  readonly #calls = new Map<string, CallState>();
  /** The messages that the engine appended for the model. */
  readonly #hidden = new Set<string>();
  readonly #named: { title: string | null; labels: Labels } = { title: null, labels: {} };
  #request: OpenRequest | null = null;
  /** The blocks of its answer; null while it has none. */
  #answer: readonly Block[] | null = null;
  #end: RunEnd | null = null;
  #endedAt = "";
  #isBegun = false;
  #revision = -1;

  constructor(stream: string) {
    this.#stream = stream;
    this.#client = { ...clientTurn.initial(stream), blame: null };
  }

  /** The newest event of the conversation itself; -1 before its first. */
  get revision(): number {
    return this.#revision;
  }

  get labels(): Labels {
    return this.#named.labels;
  }

  get title(): string | null {
    return this.#named.title;
  }

  /**
   * The newest request, until the Turn has its answer. Layers may change or refuse what the model said before that, so a page shows what they
   * let through while it arrived.
   */
  get request(): OpenRequest | null {
    if (this.#answer !== null && this.#isTakenUp(this.#answer)) [this.#request, this.#answer] = [null, null];
    return this.#request;
  }

  get run(): ClientTurnView["run"] {
    return this.#client.run;
  }

  /** How the newest run that has ended did; null if none has. */
  get end(): RunEnd | null {
    return this.#end;
  }

  get endedAt(): string {
    return this.#endedAt;
  }

  /** What people were asked about a call last; null if they were not. */
  askedAbout(call: string): ApprovalRequestedData | null {
    return this.#calls.get(call)?.asked ?? null;
  }

  /** Whether a run has begun since the newest message. */
  get isBegun(): boolean {
    return this.#isBegun;
  }

  /** What the open run waits for; empty while a process may be working on it. */
  waiting(now: string): readonly Waiting[] {
    const { run } = this.#client;
    return run === null || run.owner !== null ? [] : waitingIn(run, now);
  }

  take(recorded: RecordedEvent): void {
    const { event, frame, runId } = recorded;
    clientTurn.apply(this.#client, recorded);
    noteCall(this.#calls, recorded);
    if (event.type === "ConversationStarted" || event.type === "ConversationRelabelled") relabel(this.#named, event);
    if (event.type === "BlockAppended") {
      if (recorded.actor.kind === "engine") this.#hidden.add(event.data.block.id);
      else this.#isBegun = false;
    }
    if (event.type === "RunStarted") this.#isBegun = true;
    if (event.type === "InferenceRequested" && !isAside(frame)) {
      this.#request = { runId: runId ?? "", frame: frame ?? "0", attempt: event.data.attempt };
      this.#answer = null;
    }
    if (event.type === "InferenceFailed" && !isAside(frame)) this.#request = null;
    if (event.type === "ResponseReceived" && !isAside(frame))
      this.#answer = event.data.output.map(blockFromJson).filter(entersTurn);
    if (isRunEnd(event)) [this.#end, this.#endedAt] = [event, recorded.at];
    if (this.#client.run === null) [this.#request, this.#answer] = [null, null];
    if (recorded.stream === this.#stream) this.#revision = recorded.revision;
  }

  /** The messages of the page. While a run is open, its part is what the Turn would be if it ended now; messages that wait for its end come last. */
  shown(): readonly Shown[] {
    return shownOf({ blocks: this.#blocks(), calls: this.#calls, hidden: this.#hidden });
  }

  #blocks(): readonly Block[] {
    const { run, committed } = this.#client;
    if (run === null) return committed.blocks;
    return [...run.turns.unfinishedTurn().blocks, ...run.pending];
  }

  #isTakenUp(answer: readonly Block[]): boolean {
    const turn = this.#client.run?.turns.unfinishedTurn();
    return answer.some(({ id }) => id !== null && turn?.find(id) !== undefined);
  }

  /** The message that the open run answers, or else the last one of all; null if there is none. */
  asked(): string | null {
    const { run, committed } = this.#client;
    return this.#lastAsked(run === null ? committed.blocks : run.turns.base.blocks);
  }

  /** Whether the Turn has the block, so that a run answers it or has answered it; messages that wait for the end of a run are not in it. */
  has(id: string): boolean {
    const { run, committed } = this.#client;
    const { blocks } = run === null ? committed : run.turns.base;
    return blocks.some((block) => block.id === id);
  }

  /** The same for messages that wait, too. */
  knows(id: string): boolean {
    return this.has(id) || this.#client.run?.pending.some((block) => block.id === id) === true;
  }

  #lastAsked(blocks: readonly Block[]): string | null {
    return blocks.findLast(({ kind, id }) => kind === "user" && id !== null && !this.#hidden.has(id))?.id ?? null;
  }
}
