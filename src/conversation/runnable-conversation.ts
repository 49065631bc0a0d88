import { anything, optionsOf } from "../base/options.ts";
import type { Actor } from "../domain/actor.ts";
import type { Settlement } from "../domain/events/tool-events.ts";
import { type ConversationId, keyedBlockId } from "../domain/ids.ts";
import { type AnyEngine, checkedEngine, type Engine, type EngineOptions } from "../engine/options/engine.ts";
import type { RunResult } from "../engine/options/result.ts";
import type { RunPart } from "../engine/options/run-part.ts";
import { abandonRun, resumeConversation, runConversation } from "../engine/run/begin.ts";
import { type Cancelled, type CancelOptions, cancelRun } from "../engine/run/cancel.ts";
import { type Decided, decideCall } from "../engine/run/decide-call.ts";
import { iterateParts } from "../engine/run/iterate-parts.ts";
import {
  type AnswerOptions,
  checkedRun,
  type ResumeOptions,
  type RunRequest,
  type WithContext,
} from "../engine/run/run-options.ts";
import { settleCall } from "../engine/run/settle.ts";
import { type Stepping, stepThrough } from "../engine/run/stepping.ts";
import { type WarmUpOptions, warmUpConversation } from "../engine/run/warm-up.ts";
import type { WarmUp } from "../engine/run/warm-up-now.ts";
import type { ConversationWriter } from "../log/writer/conversation-writer.ts";
import { type ApproveOptions, checkedApproval, type DenyOptions } from "./approval-options.ts";
import { checkedActor, checkedCancel } from "./conversation-options.ts";
import { ReadableConversation, type ReadingTools } from "./readable-conversation.ts";

const abandonOptions = optionsOf<AbandonOptions>({ takeover: anything, actor: anything });

export type AbandonOptions = { readonly takeover?: boolean; readonly actor?: Actor };

/** A conversation on which engines run: `run`, and the other methods that watch and end runs. */
export class RunnableConversation extends ReadableConversation {
  readonly #stream: ConversationWriter;

  constructor(id: ConversationId, tools: ReadingTools) {
    super(id, tools);
    this.#stream = tools.stream;
  }

  /**
   * Runs the engine if the conversation has unanswered messages; otherwise returns the recorded result (`isNew` is false), without
   * asking a model or running a tool, so a repeated delivery costs nothing. With the `key` of a message, returns the result of the run
   * that answered it, even if later runs followed. Runs of one conversation in this process wait for each other.
   *
   * @throws {RunInProgressError} while a living process runs the conversation: `follow` shows what it does.
   * @throws {TurnlogError} `run-within-run` inside a run of the same conversation, which would wait for itself.
   * @throws {RunFailedError} if the run failed; the log has what it did, and the conversation can continue.
   * @throws {RunCancelledError} when the signal aborted.
   * @throws {TurnlogError} `message-not-found` if no message has the key.
   * @throws {ReplayDivergedError} if a run was cut off, and the layers do not repeat what they did in it.
   * @throws {TypeError} if `engine` is not an engine, or an option is unknown or invalid.
   */
  async run<Context, Made, Output = Made>(
    engine: Engine<Context, Made>,
    ...[options = {}]: WithContext<Context, AnswerOptions<Context, Output>>
  ): Promise<RunResult<Output>> {
    const result = await this.#run(...checkedRun("run", engine, options));
    // The schema that has this type validated the output.
    return result as RunResult<Output>;
  }

  #run(engine: EngineOptions, { key, ...options }: RunRequest & { readonly key?: string }): Promise<RunResult> {
    const wanted = key === undefined ? null : { key, blockId: keyedBlockId(this.id, key, 0) };
    return runConversation(this.#stream, engine, { ...options, wanted });
  }

  /** Finishes a run that was cut off; null if there is none. To add a message, append it and call `run`. */
  async resume<Context, Made, Output = Made>(
    engine: Engine<Context, Made>,
    ...[options = {}]: WithContext<Context, ResumeOptions<Context, Output>>
  ): Promise<RunResult<Output> | null> {
    const result = await resumeConversation(this.#stream, ...checkedRun("resume", engine, options));
    // The schema that has this type validated the output.
    return result as RunResult<Output> | null;
  }

  /** @internal The same as parts while they happen, for pages: it never begins a run. */
  resumed<Context>(
    engine: Engine<Context, unknown>,
    ...[options = {}]: WithContext<Context, ResumeOptions<Context>>
  ): AsyncIterable<RunPart> {
    const [engineOptions, runOptions] = checkedRun("resume", engine, options);
    return iterateParts((onPart, signal) =>
      resumeConversation(this.#stream, engineOptions, { ...runOptions, onPart, signal }),
    );
  }

  /**
   * Gives up a run that was cut off, without an engine: its effects stay, and every call gets an answer. Returns the run's id; null if
   * no run is open.
   *
   * @throws {RunInProgressError} while its owner is alive, unless `takeover` takes it.
   */
  async abandon(options: AbandonOptions = {}): Promise<string | null> {
    abandonOptions.check("abandon", options);
    const actor = options.actor === undefined ? {} : { actor: checkedActor("abandon", options.actor) };
    return abandonRun(this.#stream, { ...options, ...actor });
  }

  /**
   * Ends the open run, in whichever process it runs: asks its owner, which sees that within a second, aborts requests and tools, and
   * ends the run as cancelled. If no owner is alive, ends it here. Waits for the end, by default up to 5 s (`waitMs`). Returns the run's
   * outcome; null if no run is open. `reason` and `actor` are recorded, and are in the `RunCancelledError` of the run's caller.
   *
   * @throws {TypeError} if an option is unknown or invalid; {RangeError} for a `waitMs` out of bounds.
   */
  async cancel(options: CancelOptions = {}): Promise<Cancelled | null> {
    return cancelRun(this.#stream, checkedCancel(options));
  }

  /**
   * Says how a call, or an effect of a layer, ended that a crash left in doubt, or gives the result of an external tool's call; the next run
   * continues with that. If the process of the
   * run is dead, every call that had begun can be settled at once, and an effect of a layer once a run has parked it.
   *
   * @param call - Its block id, or the name of its tool or effect if no other call of that name is in doubt.
   * @throws {TurnlogError} `not-in-doubt` if no call or effect of that id or name waits to be settled.
   * @throws {TypeError} if several have that name, or the output is not JSON.
   */
  async settle(call: string, settlement: Settlement, actor: Actor = { kind: "operator" }): Promise<void> {
    await settleCall(this.#stream, call, { settlement, actor: checkedActor("settle", actor) });
  }

  /**
   * Lets a call begin that waits for approval (`waitingFor` of the run's result), with the model's arguments or with `input` instead; the next
   * `run`, `resume` or `resumeAll` continues with it. Repeating a decision changes nothing; another one is refused. With a `key`, a repeated
   * delivery is accepted even when the run has gone on.
   *
   * @param call - The id of the call's block.
   * @throws {TurnlogError} `not-waiting` if no such call waits for approval, `approval-decided` if another decision was made, `approval-expired`
   *   if its time is over, `approval-input` if the tool's schema refuses `input`, `access-denied` if `authorize` refuses the action `approve`.
   * @throws {TypeError} if an option is unknown or invalid, or `actor` has no name.
   */
  async approve(call: string, options: ApproveOptions): Promise<Decided> {
    return decideCall(this.#stream, call, checkedApproval("approve", this.id, options));
  }

  /**
   * Refuses a call that waits for approval: it never begins, and the model reads `message`. The next `run` continues with that.
   *
   * @throws as `approve` does.
   */
  async deny(call: string, options: DenyOptions): Promise<Decided> {
    return decideCall(this.#stream, call, checkedApproval("deny", this.id, options));
  }

  /**
   * Prepares the connection for the next run, and what the server at its other end holds: if the endpoint does not hold the last
   * answered Turn any more (or yet), sends it with the engine's settings and tools, to be held without an answer. It calls no layers,
   * because it sends only what layers have handed on before. Call it while a user types: it waits for runs of this process, and later
   * runs wait for it. It returns a failure instead of throwing it, because the next run works without it.
   *
   * @throws {RunInProgressError} while another process runs the conversation.
   * @throws {TypeError} if the engine's provider keeps no connections, or an option is unknown or invalid.
   */
  async warmUp(engine: AnyEngine, options: WarmUpOptions = {}): Promise<WarmUp> {
    return warmUpConversation(this.#stream, checkedEngine("warmUp", engine), options);
  }

  /**
   * Like `run`, but pauses before and after every durable write, request, tool call and effect, so that a test or a person can look,
   * inject an answer, append a message, or leave the run as a crash would. Continuing the iteration continues the run.
   */
  step<Context>(
    engine: Engine<Context, unknown>,
    ...[options = {}]: WithContext<Context, AnswerOptions<Context>>
  ): Stepping {
    const [engineOptions, runOptions] = checkedRun("step", engine, options);
    return stepThrough((interceptor) => this.#run(engineOptions, { ...runOptions, interceptor }));
  }

  /**
   * Like `run`, as parts while they happen. Ending the iteration early aborts the run: if your reader may leave, keep iterating without
   * it. If no message is unanswered, gives the recorded run: its blocks and its end. The run never waits for its reader: once the reader
   * is 10,000 deltas, or a million characters, behind, further deltas are dropped, and a `deltas-dropped` part says how many were
   * dropped there.
   */
  stream<Context, Made, Output = Made>(
    engine: Engine<Context, Made>,
    ...[options = {}]: WithContext<Context, AnswerOptions<Context, Output>>
  ): AsyncIterable<RunPart<Output>> {
    const [engineOptions, runOptions] = checkedRun("stream", engine, options);
    const parts = iterateParts((onPart, signal) =>
      this.#run(engineOptions, {
        ...runOptions,
        onPart,
        signal: options.signal === undefined ? signal : AbortSignal.any([options.signal, signal]),
      }),
    );
    // As with `run`: the schema that has this type validated the output.
    return parts as AsyncIterable<RunPart<Output>>;
  }
}
