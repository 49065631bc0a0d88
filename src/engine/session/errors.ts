import { messageOf } from "../../base/error-message.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { type Actor, describeActor } from "../../domain/actor.ts";
import type { Waiting } from "../../projections/views/waiting.ts";
import type { Routing } from "../options/route.ts";
import { LayerError } from "../ports/middleware.ts";

/** The layer that threw the error that ended a run, and the frame of its call. */
export type Thrower = { readonly layer: string; readonly frame: string };

/** The run failed; what it did is in the log, and the conversation can continue. `cause` says why. */
export class RunFailedError extends TurnlogError<"run-failed"> {
  override readonly name = "RunFailedError";
  readonly runId: string;
  readonly kind: string;
  /** The layer that threw the cause, and the frame of its call; null if no layer did. */
  readonly layer: string | null;
  readonly frame: string | null;

  constructor(runId: string, kind: string, cause: unknown, thrownBy: Thrower | null = null) {
    const { layer = null, frame = null } = thrownBy ?? {};
    const thrower = layer === null || cause instanceof LayerError ? "" : `layer ${layer}: `;
    super("run-failed", `run ${runId} failed (${kind}): ${thrower}${messageOf(cause)}`, { cause });
    this.layer = layer;
    this.frame = frame;
    this.runId = runId;
    this.kind = kind;
  }
}

/** The abort reason of a run that someone else asked to end: why, and who asked. */
export class CancelRequest extends Error {
  override readonly name = "CancelRequest";
  readonly actor: Actor;

  constructor(reason: string, actor: Actor) {
    super(reason);
    this.actor = actor;
  }
}

/** The run was aborted by its caller, or by someone else with `cancel`: `cause` says why. */
export class RunCancelledError extends TurnlogError<"run-cancelled"> {
  override readonly name = "RunCancelledError";
  readonly runId: string;
  /** The actor who called `cancel`; null if the caller's own signal aborted. */
  readonly cancelledBy: Actor | null;

  constructor(runId: string, cause: unknown) {
    const by = cause instanceof CancelRequest ? ` by ${describeActor(cause.actor)}: ${cause.message}` : "";
    super("run-cancelled", `run ${runId} was cancelled${by}`, { cause });
    this.runId = runId;
    this.cancelledBy = cause instanceof CancelRequest ? cause.actor : null;
  }
}

/** The store was closed while the run went on: the run is open, without an owner, and the next run continues it. */
export class RunParkedError extends TurnlogError<"run-parked"> {
  override readonly name = "RunParkedError";
  readonly runId: string;

  constructor(runId: string) {
    super("run-parked", `run ${runId} was parked because its store was closed: the next run continues it`);
    this.runId = runId;
  }
}

/** Ends the stack of a run that waits for somebody outside of it, as a crash would: the run is open, without an owner. */
export class RunWaits extends Error {
  override readonly name = "RunWaits";
  readonly waitingFor: readonly Waiting[];

  constructor(waitingFor: readonly Waiting[]) {
    super("the run waits for a decision or a result from outside");
    this.waitingFor = waitingFor;
  }
}

/** This process no longer owns the run: it writes nothing more for it. */
export const runTakenOver = (runId: string): TurnlogError =>
  new TurnlogError("run-taken-over", `another process or person ended or took over run ${runId}`);

/** Another writer appended before the run's first event was durable: nothing has happened yet, and the run starts over. */
export class ConversationMovedError extends Error {
  override readonly name = "ConversationMovedError";
}

/** A run was cut off, and the caller wants to look at it first. */
export class RunUnfinishedError extends TurnlogError<"run-unfinished"> {
  override readonly name = "RunUnfinishedError";
  readonly runId: string;

  constructor(runId: string) {
    super("run-unfinished", `run ${runId} was cut off; resume it, or abandon it with unfinished: "abandon"`);
    this.runId = runId;
  }
}

/** A run's log cannot be replayed without a tool that the run called: what that tool may do is unknown. */
export function toolMissing(
  runId: string,
  names: readonly string[],
  how: "was cut off in" | "called",
): TurnlogError<"tool-missing"> {
  const otherwise = how === "called" ? "" : ", or abandon the run";
  return new TurnlogError(
    "tool-missing",
    `run ${runId} ${how} ${names.join(", ")}, but this engine has no such tool; add the tool${otherwise}`,
  );
}

/** @throws {TurnlogError} `route-not-found` if a run asked a provider that the engine does not have under that name. */
export function mustHaveRoute(
  runId: string,
  { routing }: { readonly routing: Routing | null },
  route: string | null,
): void {
  if (route === null || routing?.others.has(route) === true) return;
  const names = [...(routing?.others.keys() ?? [])].join(", ") || "none";
  throw new TurnlogError(
    "route-not-found",
    `run ${runId} asked the provider '${route}', but this engine's otherProviders have ${names}: give the provider under that name`,
  );
}

/** @throws {TurnlogError} `context-missing` if a run needs a context, which no log has, and is given none. */
export function mustHaveContext(
  { id, started }: { readonly id: string; readonly started: { readonly options?: { readonly hasContext?: true } } },
  { context }: { readonly context: unknown },
  to: "resume" | "replay",
): void {
  if (started.options?.hasContext !== true || context !== undefined) return;
  const what = `run ${id} began with a context, which is not in the log`;
  throw new TurnlogError("context-missing", `${what}: to ${to} it, give the context again (context: { … })`);
}

/** @throws {RunCancelledError} when the caller has aborted the run. */
export function throwIfCancelled(signal: AbortSignal | undefined, runId: string): void {
  if (signal?.aborted === true) throw new RunCancelledError(runId, signal.reason);
}
