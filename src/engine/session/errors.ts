import { messageOf } from "../../base/error-message.ts";
import { LayerError } from "../stack/middleware.ts";

/** A run was begun by what a run of the same conversation waits for: each would wait for the other for ever. */
export class RunWithinRunError extends Error {
  override readonly name = "RunWithinRunError";
  readonly code = "run-within-run";

  constructor(conversation: string) {
    super(
      `a run of ${conversation} was begun inside a run of the same conversation, by its tool, layer or handler; ` +
        "run a child or a fork of it there, or begin the run without waiting once this one has ended",
    );
  }
}

/** No message of this key waits for an answer, and none was answered. */
export class MessageNotFoundError extends Error {
  override readonly name = "MessageNotFoundError";
  readonly code = "message-not-found";

  constructor(key: string) {
    super(
      `no message of the key "${key}" is in the conversation: append it with that key first` +
        " (one that a revert took out is not answered)",
    );
  }
}

/** Someone else ended or took over the run: nothing more was written for it. */
export class RunTakenOverError extends Error {
  override readonly name = "RunTakenOverError";
  readonly code = "run-taken-over";
}

/** The layer that threw what ended a run, and the frame of its call. */
export type Thrower = { readonly layer: string; readonly frame: string };

/** The run failed; what it did is in the log, and the conversation can go on. `cause` says why. */
export class RunFailedError extends Error {
  override readonly name = "RunFailedError";
  readonly code = "run-failed";
  readonly runId: string;
  readonly kind: string;
  /** The layer that threw the cause, and the frame of its call; null where none did. */
  readonly layer: string | null;
  readonly frame: string | null;

  constructor(runId: string, kind: string, cause: unknown, thrownBy: Thrower | null = null) {
    const { layer = null, frame = null } = thrownBy ?? {};
    const thrower = layer === null || cause instanceof LayerError ? "" : `layer ${layer}: `;
    super(`run ${runId} failed (${kind}): ${thrower}${messageOf(cause)}`, { cause });
    this.layer = layer;
    this.frame = frame;
    this.runId = runId;
    this.kind = kind;
  }
}

/** The run was aborted by its caller. */
export class RunCancelledError extends Error {
  override readonly name = "RunCancelledError";
  readonly code = "run-cancelled";
  readonly runId: string;

  constructor(runId: string, cause: unknown) {
    super(`run ${runId} was cancelled`, { cause });
    this.runId = runId;
  }
}

/** Nothing of the Turn can be sent to this endpoint: all of it belongs to others, or answers calls that are not there. */
export class NothingToSendError extends Error {
  override readonly name = "NothingToSendError";
  readonly code = "nothing-to-send";

  constructor(blocks: number) {
    super(`none of the Turn's ${blocks} blocks can be sent to this endpoint; append a message`);
  }
}

/** Layers or system blocks add to instructions that are a secret: only the provider knows their text. */
export class InstructionsHiddenError extends Error {
  override readonly name = "InstructionsHiddenError";
  readonly code = "instructions-hidden";

  constructor() {
    super(
      "the instructions are a secret, so nothing can be added to them; append them as a system message, or add nothing",
    );
  }
}

/** Someone wrote before the run's first event was durable: nothing happened yet, and it begins anew. */
export class ConversationMovedError extends Error {
  override readonly name = "ConversationMovedError";
}

/** There is nothing to ask the model. */
export class EmptyConversationError extends Error {
  override readonly name = "EmptyConversationError";
  readonly code = "empty-conversation";

  constructor(stream: string) {
    super(`${stream} has no blocks; append a message first`);
  }
}

/** A run was cut off, and the caller wants to look at it first. */
export class RunUnfinishedError extends Error {
  override readonly name = "RunUnfinishedError";
  readonly code = "run-unfinished";
  readonly runId: string;

  constructor(runId: string) {
    super(`run ${runId} was cut off; resume it, or abandon it with unfinished: "abandon"`);
    this.runId = runId;
  }
}

/** The stack is not the one that the run began with, so that its log cannot answer it. */
export class StackChangedError extends Error {
  override readonly name = "StackChangedError";
  readonly code = "stack-changed";
}

/** A run's log cannot be gone through without a tool that it called: nobody knows what that may do. */
export class ToolMissingError extends Error {
  override readonly name = "ToolMissingError";
  readonly code = "tool-missing";

  constructor(runId: string, names: readonly string[], how: "was cut off in" | "called") {
    const otherwise = how === "called" ? "" : ", or abandon the run";
    super(`run ${runId} ${how} ${names.join(", ")}, which this engine does not have; add the tool${otherwise}`);
  }
}

/** A run that is replayed was left in doubt about this: what it would have gone on with, nobody can tell. */
export class EffectInDoubtError extends Error {
  override readonly name = "EffectInDoubtError";
  readonly code = "effect-in-doubt";

  constructor(what: string) {
    super(`the log does not tell what became of ${what}`);
  }
}
