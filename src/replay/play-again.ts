import type { Conversation } from "../conversation/conversation.ts";
import type { InferenceRequestedData } from "../domain/events/inference-events.ts";
import type { ProposedEvent } from "../domain/events/recorded.ts";
import { conversationStream } from "../domain/ids.ts";
import { engineWith } from "../engine/options/adjusted-engine.ts";
import { withContextOf } from "../engine/options/context-of-run.ts";
import { type EngineOptions, engineOf } from "../engine/options/engine.ts";
import type { Codecs } from "../engine/recorded/recorded-request.ts";
import type { SingleStep } from "../engine/run/run.ts";
import { interceptedBy } from "../engine/run/run-options.ts";
import type { Breakpoint, Interceptor } from "../engine/session/breakpoint.ts";
import { mustHaveContext } from "../engine/session/errors.ts";
import type { ConversationView } from "../projections/views/conversation-view.ts";
import { type CameAt, RecordedAnswers } from "./recorded-answers.ts";
import { atRecordedEndpoints } from "./recorded-endpoints.ts";
import { isCutOff, type RecordedRun } from "./recorded-runs.ts";

/** A request that the other stack would have sent. */
export type MadeRequest = {
  readonly frame: string;
  readonly request: InferenceRequestedData;
  readonly bodyText: string;
};

/** Where the runs of a recording are made again, by which stack. */
export type Stage = {
  /** In a store that nobody else writes to, as it was before the run. */
  readonly conversation: Conversation;
  readonly engine: EngineOptions;
  readonly codecs: Codecs;
  /** The time of the conversation's store. */
  readonly clock: { now: number };
  /** The endpoints of a router's providers, by name. */
  readonly routes: ReadonlyMap<string, string>;
  readonly policies: (run: RecordedRun) => Pick<EngineOptions, "chain" | "budget" | "compact">;
  readonly onRequest?: (made: MadeRequest) => void;
  /** Called with events before they are durable. */
  readonly onEvents?: (events: readonly ProposedEvent[]) => void;
  readonly onStep?: (step: SingleStep) => void;
};

/** Why the recording cannot answer: it has no answer, no result of the tool or effect, or an answer of another dialect. */
export type Unanswered = { readonly frame: string; readonly reason: "answer" | "tool" | "effect" | "codec" };

/** A run as it was made again. */
export type PlayedRun = {
  readonly answers: RecordedAnswers;
  /** Null if the recording answered everything. */
  readonly unknown: Unanswered | null;
  /** It ends where the recorded run was cut off. */
  readonly isCut: boolean;
};

/**
 * Makes a recorded run again, with answers from the log. The run plans, edits and records as every run does, with the recorded ids,
 * numbers and times. No provider is asked, and no tool runs.
 *
 * @throws {TurnlogError} `context-missing` if the run needs a context, and the engine has none.
 */
export async function playAgain(stage: Stage, run: RecordedRun, view: ConversationView): Promise<PlayedRun> {
  const { conversation, codecs, clock, onStep } = stage;
  // The labels are those of the recording: the copy has none.
  const engine = await withContextOf(stage.engine, run.id, { stream: conversationStream(conversation.id), ...view });
  mustHaveContext(run, engine, "replay");
  const answers = new RecordedAnswers(run.events, { codecs, settings: view.server.settings });
  const order = new RecordedOrder();
  const end = new AbortController();
  const unknowns: Unanswered[] = [];
  const interceptor: Interceptor = async (stop) => {
    if (stop.kind === "append") order.noteWrite(stop.phase);
    if (stop.kind === "append" && stop.phase === "before") stage.onEvents?.(stop.entries);
    if (stop.phase === "after" || stop.kind === "append") return null;
    if (stop.kind === "inference") stage.onRequest?.(stop);
    const answer = answers.answer(stop);
    if (answer !== null) {
      const { came, give } = answer;
      if (came !== null) {
        await order.turnOf(came);
        clock.now = Math.max(clock.now, came.at);
      }
      return give();
    }
    // If the recorded run was cut off here, so is this one, and nothing is missing.
    if (!isCutOff(run) || answers.unused.length > 0) unknowns.push(unansweredAt(stop, answers));
    const reason = new Error("the recording ends here");
    end.abort(reason);
    throw reason;
  };
  const options = { signal: end.signal, again: true } as const;
  await conversation
    .run(engineOf(otherEngine({ ...stage, engine }, run)), interceptedBy(interceptor, options, onStep))
    .catch((error: unknown) => {
      const isEnd =
        error instanceof Error && "code" in error && ["run-failed", "run-cancelled"].includes(String(error.code));
      if (!isEnd) throw error;
    });
  const [unknown = null] = unknowns;
  return { answers, unknown, isCut: end.signal.aborted && unknown === null };
}

function unansweredAt(stop: Exclude<Breakpoint, { readonly kind: "append" }>, answers: RecordedAnswers): Unanswered {
  const { frame } = stop;
  if (stop.kind !== "inference") return { frame, reason: stop.kind };
  return { frame, reason: answers.isOfAnotherDialect(frame, stop.request) ? "codec" : "answer" };
}

/** The other stack at the recorded endpoint, with the recorded times. */
function otherEngine({ engine, clock, routes, policies }: Stage, run: RecordedRun): EngineOptions {
  let inferences = 0;
  const asked = engineWith(engine, run.started.options ?? {});
  return {
    ...asked,
    ...atRecordedEndpoints(asked, run, routes),
    ...policies(run),
    // The times of the recorded attempts have passed.
    sleep: async () => undefined,
    clock: () => clock.now,
    newId(prefix) {
      if (prefix === "run") return run.id;
      inferences += 1;
      return `inf_${run.id.slice(4, 20)}${String(inferences).padStart(8, "0")}`;
    },
    learned: new Map(),
    observers: [],
    tracing: null,
    onInDoubt: null,
    // Nobody is asked: what people decided is in the recorded results.
    ...{ approvals: null, onApproval: null },
    tools: asked.tools.map((tool) => ({ ...tool, mayNeedApproval: false, isExternal: false })),
  };
}

type Waiting = { readonly came: CameAt; readonly go: () => void };

/** How many turns of the event loop an answer waits for a durable write before it is released anyway. */
const maxWritingTurns = 1_000;

/**
 * Releases answers in the order in which they came when the run was recorded, so that concurrent effects get the recorded
 * results and times, whatever the order of their requests. Releases the earliest waiter once the event loop is idle, because until then
 * an earlier one may still be requested. Answers that came at once, with nothing between them, are released together.
 */
class RecordedOrder {
  readonly #waiting: Waiting[] = [];
  #writes = 0;
  #turns: number | null = null;

  /** Resolves when it is the turn of a result that came then. */
  turnOf(came: CameAt): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ came, go: resolve });
      this.#turns ??= this.#wait(0);
    });
  }

  /** A durable write begins or has ended: code that awaits it may then request something. */
  noteWrite(phase: "before" | "after"): void {
    this.#writes += phase === "before" ? 1 : -1;
  }

  #wait(turns: number): number {
    setImmediate(() => {
      this.#turns = null;
      if (this.#writes > 0 && turns < maxWritingTurns) this.#turns = this.#wait(turns + 1);
      else this.#letGo();
    });
    return turns;
  }

  #letGo(): void {
    this.#waiting.sort((left, right) => left.came.revision - right.came.revision);
    let last: CameAt | null = null;
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const { came, go } = next;
      if (last !== null && (came.revision !== last.revision + 1 || came.at !== last.at)) break;
      this.#waiting.shift();
      last = came;
      go();
    }
    if (this.#waiting.length > 0) this.#turns = this.#wait(0);
  }
}
