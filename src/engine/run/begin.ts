import type { OpenRun } from "../../projections/client-turn.ts";
import type { ConversationStream } from "../conversation-stream.ts";
import type { EngineOptions } from "../create-engine.ts";
import { cancelUnderWay, underWayOf } from "../inference/background.ts";
import { offeredTools } from "../inference/settings.ts";
import { closingEntries } from "../recovery/close.ts";
import { Journal } from "../recovery/journal.ts";
import { isDead, thisProcess } from "../recovery/owner.ts";
import { silenceOf } from "../recovery/silence.ts";
import { stackDifference } from "../recovery/stack-difference.ts";
import {
  ConversationMovedError,
  EmptyConversationError,
  RunInProgressError,
  RunUnfinishedError,
  StackChangedError,
  ToolMissingError,
} from "./errors.ts";
import { type Beginning, timeAfter } from "./open-session.ts";
import { type RunResult, resultOf } from "./result.ts";
import { type ExecuteOptions, executeRun, throwIfCancelled } from "./run.ts";

export type RunOptions = Pick<ExecuteOptions, "signal" | "onPart" | "gate"> & {
  /** What becomes of a run that was cut off: it is finished first (the default), given up, or told. */
  readonly unfinished?: "resume" | "abandon" | "throw";
  /** What a stack does that is not the one of the run that was cut off; `run` gives that up, `resume` refuses. */
  readonly onStackChanged?: "abandon" | "throw";
  /** Takes a run from an owner that may still live: what it does from then on is lost. */
  readonly takeover?: boolean;
};

/** How often a run begins anew because a block was appended before its first event was durable. */
const beginningsMax = 50;

/**
 * Runs an engine on a conversation: from the committed Turn to the Turn with the answer. A run that was cut off is finished
 * first; where nothing was appended since, its result is the result.
 *
 * @throws {RunInProgressError} while another run is open and its owner lives.
 * @throws {RunFailedError} when the run failed; the conversation is left as MODEL 9 says.
 * @throws {RunCancelledError} when the signal aborted. Nothing was written of one that had aborted before, and a run that was
 * cut off stays as it is when the abort comes before the log of it was gone through.
 * @throws {RunTakenOverError} when someone else ended or took over the run.
 * @throws {ReplayDivergedError} when the layers do not do again what the log of the run says they did.
 * @throws {EngineDisposedError} when the engine was disposed of.
 */
export function runConversation(
  stream: ConversationStream,
  engine: EngineOptions,
  options: RunOptions = {},
): Promise<RunResult> {
  return engine.life.during(() => begin(stream, engine, options));
}

async function begin(stream: ConversationStream, engine: EngineOptions, options: RunOptions): Promise<RunResult> {
  const { onStackChanged = "abandon", unfinished = "resume" } = options;
  let closedRun: string | null = null;
  const newRunId = engine.newId("run");
  throwIfCancelled(options.signal, newRunId);
  for (let attempt = 1; ; attempt += 1) {
    const { run, committed } = (await stream.learnFromAncestors()).client;
    try {
      if (run !== null) {
        mustBeFree(stream, run, engine, options);
        if (unfinished === "throw") throw new RunUnfinishedError(run.id);
        const isChanged = unfinished === "resume" && isOtherStack(run, engine, onStackChanged);
        if (unfinished === "resume" && !isChanged) {
          const resumed = await takeUp(stream, run, engine, options);
          // Who appended a message meanwhile wants it answered.
          if (resumed.status === "parked" || resumed.turn.digest === resumed.answeredTurn.digest) return resumed;
        } else await abandon(stream, run, { kind: isChanged ? "stack-changed" : "interrupted", engine });
        closedRun = run.id;
        continue;
      }
      if (committed.length === 0) throw new EmptyConversationError(stream.name);
      const startedAt = timeAfter(stream, engine.clock());
      const beginning = { runId: newRunId, base: committed, startedAt, epoch: 0, before: null };
      return await execute(stream, engine, beginning, { ...options, closedRun });
    } catch (error) {
      if (!(error instanceof ConversationMovedError) || attempt === beginningsMax) throw error;
    }
  }
}

/**
 * Finishes the run that was cut off, and nothing else; null where there is none.
 *
 * @throws {RunInProgressError} while its owner lives.
 * @throws {RunCancelledError} when the signal aborted; before the log of the run was gone through, it stays as it is.
 * @throws {StackChangedError} when the stack is not the one it began with.
 * @throws {ReplayDivergedError} when the layers do not do again what the log says they did.
 * @throws {EngineDisposedError} when the engine was disposed of.
 */
export function resumeConversation(
  stream: ConversationStream,
  engine: EngineOptions,
  options: Omit<RunOptions, "unfinished"> = {},
): Promise<RunResult | null> {
  return engine.life.during(() => finish(stream, engine, options));
}

async function finish(
  stream: ConversationStream,
  engine: EngineOptions,
  options: Omit<RunOptions, "unfinished">,
): Promise<RunResult | null> {
  for (let attempt = 1; ; attempt += 1) {
    const { run } = (await stream.refresh()).client;
    if (run === null) return null;
    throwIfCancelled(options.signal, run.id);
    mustBeFree(stream, run, engine, options);
    const isChanged = isOtherStack(run, engine, options.onStackChanged ?? "throw");
    try {
      if (!isChanged) return await takeUp(stream, run, engine, options);
      await abandon(stream, run, { kind: "stack-changed", engine });
      return null;
    } catch (error) {
      if (!(error instanceof ConversationMovedError) || attempt === beginningsMax) throw error;
    }
  }
}

/** @throws {StackChangedError} when the stack is another one, and that is not to give the run up. */
function isOtherStack(run: OpenRun, { layers }: EngineOptions, onStackChanged: "abandon" | "throw"): boolean {
  const difference = stackDifference(run.started.stack, layers);
  if (difference === null || onStackChanged === "abandon") return difference !== null;
  throw new StackChangedError(`run ${run.id} cannot go on: ${difference}`);
}

type Abandoning = { readonly kind: "interrupted" | "stack-changed"; readonly engine: EngineOptions };

/**
 * Gives up a run that was cut off: what it did stays, and every call is answered (MODEL 9). What the server still makes for
 * it is cancelled.
 */
async function abandon(stream: ConversationStream, run: OpenRun, { kind, engine }: Abandoning): Promise<void> {
  const message = kind === "interrupted" ? "its owner ended before it did" : "the stack is not the one it began with";
  const how = { type: "RunFailed", kind, message } as const;
  const seen = stream.head?.revision;
  const underWay = await underWayOf(stream, run, engine.provider);
  const entries = closingEntries({ runId: run.id, turns: run.turns, how, actor: { kind: "recovery" } });
  await stream.commit(entries, () => {
    // Its owner may have spoken, or someone else closed it: what ends it would no longer follow from what it did.
    if (stream.head?.revision !== seen) throw new ConversationMovedError();
  });
  await cancelUnderWay({ underWay, engine });
}

/** A run may be taken up when nobody owns it, or its owner is dead or silent. */
function mustBeFree(
  stream: ConversationStream,
  run: OpenRun,
  engine: EngineOptions,
  { takeover = false }: RunOptions,
): void {
  const { owner } = run;
  if (activeRuns.has(run.id)) throw new RunInProgressError(run.id, owner);
  if (owner === null || takeover || owner.processId === thisProcess.processId || isDead(owner)) return;
  const lastSign = { revision: stream.lastRunRevision, at: stream.lastRunAt ?? run.startedAt };
  if (silenceOf(run.id, lastSign, engine.clock()) <= engine.takeoverAfterMs)
    throw new RunInProgressError(run.id, owner);
}

async function takeUp(
  stream: ConversationStream,
  run: OpenRun,
  engine: EngineOptions,
  options: RunOptions,
): Promise<RunResult> {
  const { id: runId, turns, startedRevision: firstRevision, epoch } = run;
  if (run.owner === null && run.inDoubt.size > 0) {
    const { committed: turn } = stream.view.client;
    const how = { answered: turns.base, turn, closedRun: null, isResumed: true, inDoubt: [...run.inDoubt] };
    return resultOf({ runId, steps: [] }, how);
  }
  const journal = new Journal(turns);
  for await (const recorded of stream.read(firstRevision)) if (recorded.runId === runId) journal.note(recorded);
  mustHaveTools(run, engine, offeredTools(stream.view.server.settings.get(run.started.settingsDigest)));
  const startedAt = Date.parse(run.startedAt);
  const before = { firstRevision, journal };
  const beginning = { runId, base: turns.base, startedAt, epoch: epoch + 1, before };
  // A run keeps the policy that it began with: what its requests were planned by is said once.
  return execute(stream, { ...engine, chain: run.started.chain }, beginning, { ...options, closedRun: null });
}

/** Runs of this process that go on: an open run of ours that is not among them was given up by an error of the store. */
const activeRuns = new Set<string>();

async function execute(
  stream: ConversationStream,
  engine: EngineOptions,
  beginning: Beginning,
  options: ExecuteOptions,
): Promise<RunResult> {
  activeRuns.add(beginning.runId);
  try {
    return await executeRun(stream, engine, beginning, options);
  } finally {
    activeRuns.delete(beginning.runId);
  }
}

/**
 * Calls that were cut off need their tools, to be run again or to say that they may not be; unless the model called a tool
 * that it never was offered.
 */
function mustHaveTools({ id, turns }: OpenRun, { tools }: EngineOptions, offered: ReadonlySet<string>): void {
  const names = new Set(tools.map(({ name }) => name));
  const missing = turns.openCalls
    .filter((call) => call.id !== null && turns.isToolStarted(call.id))
    .map((call) => call.name ?? call.itemType)
    .filter((name) => !names.has(name) && offered.has(name));
  if (missing.length > 0) throw new ToolMissingError(id, missing, "was cut off in");
}
