import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Actor } from "../../domain/actor.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { ConversationWriter } from "../../log/writer/conversation-writer.ts";
import type { CompletedRun } from "../../projections/client-turn/answers.ts";
import type { OpenRun } from "../../projections/client-turn/open-run.ts";
import { summarisable } from "../compaction/shorten.ts";
import { engineWith } from "../options/adjusted-engine.ts";
import type { RecordedPolicy } from "../options/chain-policy.ts";
import { type SummaryOptions, summaryPolicy } from "../options/compact-policy.ts";
import { stopwatch, takeoverAfterMsDefault } from "../options/create-engine.ts";
import type { EngineOptions } from "../options/engine.ts";
import type { RunResult } from "../options/result.ts";
import type { RunPart } from "../options/run-part.ts";
import { chosenPolicy } from "../planning/choose-mode.ts";
import { leadingSystemBlocks, splitTurn } from "../planning/instruction-blocks.ts";
import { ConversationMovedError, RunUnfinishedError, throwIfCancelled } from "../session/errors.ts";
import { execution } from "./execution.ts";
import { giveAgain } from "./given-again.ts";
import { noteInterruption } from "./interruption-note.ts";
import { parkable } from "./parking.ts";
import type { ResumeOptions, RunRequest } from "./run-options.ts";
import { oneAfterAnother, type QueueOptions } from "./run-queue.ts";

/** The message to answer; null for all unanswered messages. */
type Wanted = { readonly blockId: BlockId; readonly key: string } | null;

/** How often a run starts over because a block was appended before its first event was durable. */
const maxBeginnings = 50;

/**
 * Runs the engine from the committed Turn to the Turn with the answer, if messages are unanswered; otherwise returns the recorded result,
 * without asking a model or writing. A run that was cut off is finished first.
 *
 * @throws {RunInProgressError} while a run of another process is open and its owner is alive.
 * @throws {TurnlogError} `run-within-run` inside a run of the same conversation.
 * @throws {RunFailedError} if the run failed; the conversation is left as the rule "Runs that do not complete" says.
 * @throws {RunCancelledError} if the signal aborted. If it had aborted before, nothing was written. A run that was cut off and was still
 * being replayed stays as it was.
 * @throws {TurnlogError} `run-taken-over` if someone else ended or took over the run.
 * @throws {ReplayDivergedError} if the layers do not repeat what the log of the run says they did.
 * @throws {TurnlogError} `message-not-found` if the message to answer is not in the conversation.
 * @throws {TurnlogError} `engine-disposed` if the engine was disposed of.
 */
export function runConversation(
  stream: ConversationWriter,
  engine: EngineOptions,
  options: RunRequest & { readonly wanted?: Wanted } = {},
): Promise<RunResult> {
  return engine.life.during(() => answer(stream, engine, options));
}

async function answer(
  stream: ConversationWriter,
  engine: EngineOptions,
  options: RunRequest & { readonly wanted?: Wanted },
): Promise<RunResult> {
  const runId = engine.newId("run");
  throwIfCancelled(options.signal, runId);
  const { wanted = null, again = false } = options;
  if (wanted !== null && !again) {
    // A message that was answered long ago need not queue behind other runs.
    await stream.refresh();
    const answered = await stream.answeredBy(wanted.blockId);
    if (answered !== null) return giveAgain(stream, answered, engine, { ...options, closedRun: null });
  }
  return inTurn(stream, { ...options, runId }, () => runNow(stream, engine, { ...options, wanted, again, runId }));
}

type RunNow = RunRequest & { readonly wanted: Wanted; readonly again: boolean; readonly runId: string };

async function runNow(stream: ConversationWriter, engine: EngineOptions, options: RunNow): Promise<RunResult> {
  const { wanted, again, runId } = options;
  let closedRun: string | null = null;
  for (let attempt = 1; ; attempt += 1) {
    throwIfCancelled(options.signal, runId);
    await stream.refresh();
    const answered = await answerIn(stream, wanted);
    if (answered !== null && !again) return giveAgain(stream, answered, engine, { ...options, closedRun });
    await stream.learnFromAncestors();
    await readTurn(stream, engine, options);
    const { run, committed } = stream.view.client;
    try {
      if (run !== null) {
        const shown = withoutEnd(options.onPart);
        const resumed = await finishOpen(stream, run, engine, { ...options, ...shown.options }).catch(
          (error: unknown) => {
            if (!(error instanceof ConversationMovedError)) shown.fail();
            throw error;
          },
        );
        closedRun = run.id;
        if (resumed === null) continue;
        // If a message was appended meanwhile, it still has to be answered.
        if (resumed.status !== "parked" && (await answerIn(stream, wanted))?.runId !== run.id) continue;
        options.onPart?.({ type: "run-end", result: resumed });
        return resumed;
      }
      if (wanted !== null && committed.find(wanted.blockId) === undefined)
        throw new TurnlogError(
          "message-not-found",
          `the conversation has no message with the key "${wanted.key}": append it with that key first (a message that a revert removed is not answered)`,
        );
      if (committed.length === 0)
        throw new TurnlogError("empty-conversation", `${stream.name} has no blocks; append a message first`);
      await noteInterruption(stream, engine);
      return await begin(stream, engine, { ...options, closedRun });
    } catch (error) {
      if (!(error instanceof ConversationMovedError) || attempt === maxBeginnings) throw error;
    }
  }
}

type Shown = {
  readonly options: Pick<RunNow, "onPart">;
  /** Shows how the run failed, if the caller gets its error. */
  readonly fail: () => void;
};

/** Readers get only the end of the run whose result the caller gets; a run that was cut off may be finished before it. */
function withoutEnd(onPart: RunNow["onPart"]): Shown {
  let failed: RunPart | null = null;
  const show = (part: RunPart): void => {
    if (part.type === "run-failed") failed = part;
    else if (part.type !== "run-end") onPart?.(part);
  };
  return {
    options: onPart === undefined ? {} : { onPart: show },
    fail: () => {
      if (failed !== null) onPart?.(failed);
    },
  };
}

/** Finishes the open run, taken from an owner that is gone; null if the run was given up. */
async function finishOpen(
  stream: ConversationWriter,
  run: OpenRun,
  engine: EngineOptions,
  options: RunRequest,
): Promise<RunResult | null> {
  const { finish, mustBeFree } = await execution();
  await mustBeFree(stream, run, engine, options);
  if (options.unfinished === "throw") throw new RunUnfinishedError(run.id);
  return finish(stream, run, engine, { onStackChanged: "abandon", ...options });
}

type Begun = Omit<RunNow, "wanted"> & { readonly closedRun: string | null };

/** Begins a run on the committed Turn. */
async function begin(stream: ConversationWriter, engine: EngineOptions, options: Begun): Promise<RunResult> {
  const { executeRun, timeAfter } = await execution();
  const { runId, again, recorded = {} } = options;
  const base = stream.view.client.committed;
  const startedAt = timeAfter(stream, engine.clock());
  const beginning = { runId, base, startedAt, epoch: 0, before: null, again, options: recorded };
  const chain = chosenPolicy(engine, stream.view);
  warnOfDowngrade(engine, chain);
  return parkable(stream, (onSession) =>
    executeRun(stream, engineWith({ ...engine, chain }, recorded), beginning, { ...options, onSession }),
  );
}

/**
 * Has the model summarise the oldest exchanges, in a run that does nothing else. It is recorded, resumed, replayed and paid for like every
 * run; layers hide from it what they hide from others; unanswered messages stay unanswered. Null if there is nothing to summarise.
 *
 * @throws {RunInProgressError} while a run of another process is open and its owner is alive.
 * @throws {RunUnfinishedError} while a run waits for something in doubt to be settled.
 * @throws {RunFailedError} if there was no summary; the Turn is unchanged.
 */
export function summariseConversation(
  stream: ConversationWriter,
  given: EngineOptions,
  options: RunRequest & SummaryOptions,
): Promise<RunResult | null> {
  const engine = { ...given, compact: summaryPolicy(given.compact, options) };
  const runId = engine.newId("run");
  const work = async (): Promise<RunResult | null> => {
    let closedRun: string | null = null;
    for (let attempt = 1; ; attempt += 1) {
      throwIfCancelled(options.signal, runId);
      await stream.refresh();
      await stream.learnFromAncestors();
      await stream.readContents();
      const { run, committed } = stream.view.client;
      try {
        if (run !== null) {
          const isSummary = run.started.compact?.only === true;
          const resumed = await finishOpen(stream, run, engine, options);
          if (resumed?.status === "parked") throw new RunUnfinishedError(run.id);
          if (isSummary && resumed !== null) return resumed;
          closedRun = run.id;
          continue;
        }
        if (summarisable(committed, engine.compact.keep) === null) return null;
        return await begin(stream, engine, { ...options, runId, again: false, closedRun });
      } catch (error) {
        if (!(error instanceof ConversationMovedError) || attempt === maxBeginnings) throw error;
      }
    }
  };
  return engine.life.during(() => inTurn(stream, { ...options, runId }, work));
}

/** Engines that have already warned that their layers leave nothing to chain. */
const warned = new WeakSet<EngineOptions["life"]>();

function warnOfDowngrade({ life }: EngineOptions, { chosen }: RecordedPolicy): void {
  if (chosen !== "layers-edit-every-step" || warned.has(life)) return;
  warned.add(life);
  const told =
    "the layers changed what the server held before every request, so mode 'auto' sends whole Turns from now on: docs/CHAINING.md lists the layers that keep a chain";
  process.emitWarning(told, "TurnlogWarning");
}

/** The run that answered the wanted messages; null if one is unanswered. */
async function answerIn(stream: ConversationWriter, wanted: Wanted): Promise<CompletedRun | null> {
  if (wanted === null && stream.view.client.run !== null) return null;
  return stream.answeredBy(wanted?.blockId ?? null);
}

/** Layers, and a caller that holds the run, see the whole Turn. Without them, only what the endpoint does not hold yet is read. */
async function readTurn(
  stream: ConversationWriter,
  { layers, provider, tracing }: EngineOptions,
  { interceptor }: Pick<RunRequest, "interceptor">,
): Promise<void> {
  const { committed, run } = stream.view.client;
  if (run !== null) return stream.readContents(run.turns.base.blocks);
  // A span with content has everything that the model reads.
  const isAllSeen = layers.length > 0 || interceptor !== undefined || tracing?.hasContent === true;
  if (isAllSeen) return stream.readContents();
  if (provider.systemAs === "instructions") await stream.readContents(leadingSystemBlocks(committed));
  return stream.readUnsent(splitTurn(stream.view, committed, provider).input, provider.scope);
}

/**
 * Finishes the run that was cut off, and does nothing else; null if there is none.
 *
 * @throws {RunInProgressError} while its owner is alive.
 * @throws {RunCancelledError} if the signal aborted; if the run was still being replayed, it stays as it was.
 * @throws {TurnlogError} `stack-changed` if the stack is not the one that the run began with.
 * @throws {ReplayDivergedError} if the layers do not repeat what the log says they did.
 */
export async function resumeConversation(
  stream: ConversationWriter,
  engine: EngineOptions,
  options: ResumeOptions & Pick<RunRequest, "interceptor" | "onPart"> = {},
): Promise<RunResult | null> {
  const again = async (): Promise<RunResult | null> => {
    const { finish, mustBeFree } = await execution();
    for (let attempt = 1; ; attempt += 1) {
      const { run } = (await stream.refresh()).client;
      if (run === null) return null;
      throwIfCancelled(options.signal, run.id);
      try {
        await mustBeFree(stream, run, engine, options);
        return await finish(stream, run, engine, { onStackChanged: "throw", ...options });
      } catch (error) {
        if (!(error instanceof ConversationMovedError) || attempt === maxBeginnings) throw error;
      }
    }
  };
  return engine.life.during(() => inTurn(stream, { ...options, runId: engine.newId("run") }, again));
}

/**
 * Gives up the run that was cut off, without an engine: what it did stays, and every open call gets a result (rule: Runs that do not
 * complete). Returns its id; null if there is none.
 *
 * @throws {RunInProgressError} while its owner is alive, unless the run is taken over.
 */
export async function abandonRun(
  stream: ConversationWriter,
  { takeover = false, actor = { kind: "operator" } }: { readonly takeover?: boolean; readonly actor?: Actor } = {},
): Promise<string | null> {
  return inTurn(stream, { runId: "" }, async () => {
    const { abandon, mustBeFree } = await execution();
    for (let attempt = 1; ; attempt += 1) {
      const { run } = (await stream.refresh()).client;
      if (run === null) return null;
      try {
        await mustBeFree(stream, run, { stopwatch, takeoverAfterMs: takeoverAfterMsDefault }, { takeover });
        await abandon(stream, run, { kind: "abandoned", actor });
        return run.id;
      } catch (error) {
        if (!(error instanceof ConversationMovedError) || attempt === maxBeginnings) throw error;
      }
    }
  });
}

/** Executes the runs of one conversation in this process one after another, across store objects. */
export function inTurn<T>(stream: ConversationWriter, options: QueueOptions, work: () => Promise<T>): Promise<T> {
  return oneAfterAnother(lineOf(stream), options, work);
}

/** The key of the queue for the runs of a conversation. */
export const lineOf = ({ name, log }: ConversationWriter): string => `${name} of ${log.store.storeId}`;
