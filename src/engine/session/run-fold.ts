import { blockFromJson } from "../../domain/block-json.ts";
import type { ProposedEvent, RecordedEvent } from "../../domain/events/recorded.ts";
import { isAside } from "../../domain/frame.ts";
import type { ConversationWriter } from "../../log/writer/conversation-writer.ts";
import { applyToTurns, type Made } from "../../projections/client-turn/apply-to-turns.ts";
import type { RunTurns } from "../../projections/client-turn/run-turns.ts";
import { type ServerContextsView, serverContexts } from "../../projections/server-contexts/server-contexts.ts";
import { totalTokens, usageOf } from "../../projections/usage.ts";
import type { ConversationView } from "../../projections/views/conversation-view.ts";
import { noteRun, type RunRecord, type RunStep } from "../../projections/views/run-record.ts";
import type { RunClock } from "./run-clock.ts";

type Folding = {
  readonly stream: Pick<ConversationWriter, "name" | "view" | "readAll">;
  readonly turns: RunTurns;
  /** The record of the run's events so far; durable events are added to it. */
  readonly record: RunRecord;
  readonly clock: RunClock;
};

/**
 * The state that a run's events amount to, for the run itself. Its Turns and what was learnt of servers are ahead of the log: an event is
 * applied to them when it is recorded or, in a resumed run, when the re-execution meets it. The conversation's view and the run's record
 * contain only durable events.
 */
export class RunFold {
  readonly turns: RunTurns;
  /** The knowledge of servers that the run has gained; `contextLookup` searches here and in the conversation's view (decision 0101). */
  readonly server: ServerContextsView;
  /** The record from which the run's result is built. */
  readonly record: RunRecord;
  readonly #stream: Folding["stream"];
  readonly #clock: RunClock;
  #spentTokens: number;
  #isWhole = true;

  constructor({ stream, turns, record, clock }: Folding) {
    this.turns = turns;
    this.server = serverContexts.initial(stream.name);
    this.record = record;
    this.#stream = stream;
    this.#clock = clock;
    // The tokens that a resumed run has already used are counted as its responses are met again.
    const known = [...record.steps, ...record.asides].reduce((sum, { usage }) => sum + totalTokens(usage), 0);
    this.#spentTokens = totalTokens(stream.view.spent) - known;
  }

  /** The view of the conversation at the head that this process knows. */
  get view(): ConversationView {
    return this.#stream.view;
  }

  /** Tokens that the conversation has used, this run included. */
  get spentTokens(): number {
    return this.#spentTokens;
  }

  /** Whether the newest response is whole. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** The durable responses among those that the run has received or met again, in order. */
  get durableSteps(): readonly RunStep[] {
    return this.record.steps.slice(0, this.server.contexts.length);
  }

  /** Reads the parts of the conversation that were not read before: contents, settings, and blame. */
  readAll(): Promise<void> {
    return this.#stream.readAll();
  }

  /** @param made - The objects that the event was made of. */
  apply({ event, actor, frame: where, at = this.#clock.at }: ProposedEvent, made?: Made): void {
    const frame = where ?? null;
    applyToTurns(this.turns, event, { actor, frame }, made);
    const { runId } = this.record;
    const place = { stream: this.#stream.name, revision: Number.MAX_SAFE_INTEGER, id: "", digest: "", runId, actor };
    serverContexts.apply(this.server, { ...place, event, frame, at: new Date(at).toISOString() });
    if (event.type !== "ResponseReceived") return;
    this.#spentTokens += totalTokens(usageOf(event.data.usage));
    if (!isAside(frame)) this.#isWhole = event.data.isComplete;
  }

  /** Applies events of the run that are now durable. The record gets the blocks that the run continues with: an answer is not read twice. */
  applyDurable(events: readonly RecordedEvent[]): void {
    for (const recorded of events)
      noteRun(this.record, recorded, (json) => this.turns.version(json.id, json.digest) ?? blockFromJson(json));
  }
}
