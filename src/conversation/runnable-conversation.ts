import { anything, optionsOf } from "../base/options.ts";
import type { Actor } from "../domain/actor.ts";
import type { Settlement } from "../domain/events/tool-events.ts";
import { type ConversationId, keyedBlockId } from "../domain/ids.ts";
import { abandonRun, resumeConversation, runConversation } from "../engine/run/begin.ts";
import { type Cancelled, type CancelOptions, cancelRun } from "../engine/run/cancel.ts";
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
import { type AnyEngine, checkedEngine, type Engine, type EngineOptions } from "../engine/stack/engine.ts";
import type { RunResult } from "../engine/stack/result.ts";
import type { RunPart } from "../engine/stack/run-part.ts";
import type { ConversationWriter } from "../log/writer/conversation-writer.ts";
import { checkedActor, checkedCancel } from "./conversation-options.ts";
import { ReadableConversation, type ReadingTools } from "./readable-conversation.ts";

const abandonOptions = optionsOf<AbandonOptions>({ takeover: anything, actor: anything });

export type AbandonOptions = { readonly takeover?: boolean; readonly actor?: Actor };

/** A conversation that engines are run on: by `run`, or one of the ways to see and to end what it does. */
export class RunnableConversation extends ReadableConversation {
  readonly #stream: ConversationWriter;

  constructor(id: ConversationId, tools: ReadingTools) {
    super(id, tools);
    this.#stream = tools.stream;
  }

  /**
   * Answers what is unanswered, once: runs an engine on the conversation, to the answer. Where nothing waits for one, the
   * recorded result is given (`isNew` is false), nobody is asked and no tool runs: a delivery that comes twice costs
   * nothing. With the `key` of a message the result is that of the run which answered it, also after later ones. Runs of
   * one conversation in this process wait for each other.
   *
   * @throws {RunInProgressError} while a process that lives runs the conversation: `follow` shows what it does.
   * @throws {TurnlogError} `run-within-run` inside a run of the same conversation, which would wait for itself.
   * @throws {RunFailedError} when the run failed; what it did is in the log, and the conversation can go on.
   * @throws {RunCancelledError} when the signal aborted.
   * @throws {TurnlogError} `message-not-found` when no message has the key.
   * @throws {ReplayDivergedError} when a run was cut off, and the layers do not do again what they did in it.
   * @throws {TypeError} for what is no engine, for an option that is none, and for a value that it cannot have.
   */
  async run<Context, Made, Output = Made>(
    engine: Engine<Context, Made>,
    ...[options = {}]: WithContext<Context, AnswerOptions<Context, Output>>
  ): Promise<RunResult<Output>> {
    const result = await this.#run(...checkedRun("run", engine, options));
    // What it is was validated by the schema that has this type.
    return result as RunResult<Output>;
  }

  #run(engine: EngineOptions, { key, ...options }: RunRequest & { readonly key?: string }): Promise<RunResult> {
    const wanted = key === undefined ? null : { key, blockId: keyedBlockId(this.id, key, 0) };
    return runConversation(this.#stream, engine, { ...options, wanted });
  }

  /**
   * Finishes a run that was cut off; null where there is none. It appends nothing of its own: who wants to say more says it
   * and runs.
   */
  async resume<Context, Made, Output = Made>(
    engine: Engine<Context, Made>,
    ...[options = {}]: WithContext<Context, ResumeOptions<Context, Output>>
  ): Promise<RunResult<Output> | null> {
    const result = await resumeConversation(this.#stream, ...checkedRun("resume", engine, options));
    // What it is was validated by the schema that has this type.
    return result as RunResult<Output> | null;
  }

  /**
   * Gives up a run that was cut off, where no engine is at hand that could finish it: what it did stays, and every call is
   * answered. Gives the run's id; null where none is open.
   *
   * @throws {RunInProgressError} while its owner lives, unless `takeover` takes it.
   */
  async abandon(options: AbandonOptions = {}): Promise<string | null> {
    abandonOptions.check("abandon", options);
    const actor = options.actor === undefined ? {} : { actor: checkedActor("abandon", options.actor) };
    return abandonRun(this.#stream, { ...options, ...actor });
  }

  /**
   * Ends the run that is open, in whichever process it runs: asks its owner, which sees that within a second, aborts requests and tools,
   * and ends the run as cancelled; where no owner lives, ends it here. Waits for that, 5 s unless `waitMs` says otherwise. Gives what
   * became of the run; null where none is open. `reason` and `actor` stand in the log, and in the `RunCancelledError` of the run's caller.
   *
   * @throws {TypeError} for an option that is none, and for a value that it cannot have; {RangeError} for a `waitMs` out of bounds.
   */
  async cancel(options: CancelOptions = {}): Promise<Cancelled | null> {
    return cancelRun(this.#stream, checkedCancel(options));
  }

  /**
   * Says what became of a call, or an effect of a layer, that a crash left in doubt; the next run goes on with it. Of a run
   * whose process is dead every call that had begun can be settled at once; an effect of a layer once a run has parked it.
   *
   * @param call - Its block id, or the name of its tool or effect where no other call of that is in doubt.
   * @throws {TurnlogError} `not-in-doubt` when nothing of that id or name waits to be settled.
   * @throws {TypeError} when the name stands for several, and when the output is no JSON.
   */
  async settle(call: string, settlement: Settlement, actor: Actor = { kind: "operator" }): Promise<void> {
    await settleCall(this.#stream, call, { settlement, actor: checkedActor("settle", actor) });
  }

  /**
   * Has the next run find its connection open, and at its other end what was answered last: sends that with the engine's settings and
   * tools, to be held and not to be answered, where the endpoint holds it no more (or yet). No layer is asked, for nothing is sent that
   * layers had not handed on before. Call it while a user types: it waits for runs of this process, and later runs wait for it. That
   * it failed is told and not thrown, because the next run does without.
   *
   * @throws {RunInProgressError} while another process runs the conversation.
   * @throws {TypeError} for an engine whose provider keeps no connections, and for an option that is none.
   */
  async warmUp(engine: AnyEngine, options: WarmUpOptions = {}): Promise<WarmUp> {
    return warmUpConversation(this.#stream, checkedEngine("warmUp", engine), options);
  }

  /**
   * The same run, held before and after every durable write, request, tool call and effect, for a test or a person to look,
   * to inject an answer, to append a message, or to leave it as a crash would. Going on with the iteration lets it go on.
   */
  step<Context>(
    engine: Engine<Context, unknown>,
    ...[options = {}]: WithContext<Context, AnswerOptions<Context>>
  ): Stepping {
    const [engineOptions, runOptions] = checkedRun("step", engine, options);
    return stepThrough((interceptor) => this.#run(engineOptions, { ...runOptions, interceptor }));
  }

  /**
   * The same run, as it happens. Ending the iteration early aborts it: where the reader may leave, go on iterating without it. Where nothing waits for an answer it is the recorded
   * one: its blocks, and the end of the run. The run never waits for its reader: of one that is 10,000 deltas, or a million
   * characters, behind, further deltas are dropped, and a `deltas-dropped` part says how many stood there.
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
    // As with `run`: what the output is was validated by the schema that has this type.
    return parts as AsyncIterable<RunPart<Output>>;
  }
}
