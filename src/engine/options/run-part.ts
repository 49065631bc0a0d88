import type { JsonValue } from "../../base/json.ts";
import type { Actor } from "../../domain/actor.ts";
import type { Block } from "../../domain/block.ts";
import type { Decision } from "../../domain/events/inference-events.ts";
import type { Compaction } from "../../domain/events/shared.ts";
import type { Turn } from "../../domain/turn.ts";
import type { Usage } from "../../projections/usage.ts";
import type { ItemStart } from "../ports/provider.ts";
import type { BudgetLimit } from "./budget.ts";
import type { RunResult } from "./result.ts";

/** What a run reports while it happens. Parts are never stored: the log gets the final items. */
export type RunPart<Output = unknown> =
  | { readonly type: "run-start"; readonly runId: string }
  /** An interrupted run continues from here; parts that it reported before are not repeated. */
  | { readonly type: "resumed"; readonly runId: string; readonly turn: Turn }
  | {
      readonly type: "request-start";
      readonly frame: string;
      readonly attempt: number;
      /** The name in `otherProviders` of the provider asked; null for the engine's own provider. */
      readonly route: string | null;
      readonly decision: Decision;
      readonly requestBytes: number;
    }
  /**
   * An item of the answer begins: comes before its first delta, and names the call as far as the wire has said by then. Frame, index and
   * kind identify the item until it is complete, because some wires have reasoning and text in one.
   */
  | (ItemStart & { readonly frame: string })
  | { readonly type: "text-delta"; readonly frame: string; readonly outputIndex: number; readonly text: string }
  | { readonly type: "reasoning-delta"; readonly frame: string; readonly outputIndex: number; readonly text: string }
  | { readonly type: "tool-call-delta"; readonly frame: string; readonly outputIndex: number; readonly text: string }
  /** The usage of an answer as the provider reports it: during the stream, if the provider does that, and at its end. */
  | { readonly type: "usage"; readonly frame: string; readonly usage: Usage }
  /** The next request exceeds the run's budget and is sent anyway, because `onExceeded` is `warn`. */
  | {
      readonly type: "budget-exceeded";
      readonly frame: string;
      readonly limit: BudgetLimit;
      readonly tokens: number;
      readonly max: number;
    }
  /** The engine shortened the Turn, before a request or at the end of the run. */
  | { readonly type: "compacted"; readonly frame: string; readonly compaction: Compaction }
  /** The next request carries encrypted reasoning that is older than the engine's `reasoning.warnAfterMs`; `oldestAt` dates the oldest. */
  | { readonly type: "reasoning-aged"; readonly frame: string; readonly blocks: number; readonly oldestAt: string }
  /**
   * The next request gives up so much of an earlier prompt (`cacheLost`) that about this many tokens are paid for again, although a
   * prompt cache may hold them; who changed a block, and the paths of settings that differ.
   */
  | {
      readonly type: "cache-lost";
      readonly frame: string;
      readonly tokens: number;
      readonly actor: Actor | null;
      readonly settings: readonly string[];
    }
  /** The reader was slower than the run, so this many deltas and `data` parts were dropped here. The blocks that follow are complete. */
  | { readonly type: "deltas-dropped"; readonly count: number }
  /** The observer was slower than its runs, so it missed this many parts here, of whatever runs it watches. */
  | { readonly type: "parts-dropped"; readonly count: number }
  | { readonly type: "block"; readonly frame: string; readonly block: Block }
  /** Discard the deltas of this attempt: it failed. If the request is retried, the next attempt begins after this delay. */
  | {
      readonly type: "attempt-discarded";
      readonly frame: string;
      readonly attempt: number;
      readonly reason: string;
      readonly retryInMs?: number;
    }
  /** A layer is called. */
  | { readonly type: "layer-start"; readonly frame: string; readonly layer: string; readonly version: string }
  /** The call has ended. A run that waits or is taken up shows the end of some calls alone, or none. */
  | {
      readonly type: "layer-end";
      readonly frame: string;
      readonly layer: string;
      readonly version: string;
      /** `short-circuited`: the layer answered without calling `next`. */
      readonly outcome: "completed" | "short-circuited" | "failed";
      /** The error's message, if it failed. */
      readonly message: string | null;
      readonly durationMs: number;
      /** Without the time in which a call of `next` was under way. */
      readonly ownMs: number;
    }
  /** A layer or a tool shows something of its own (`ctx.emit`). */
  | {
      readonly type: "data";
      readonly frame: string;
      readonly name: string;
      readonly data: JsonValue;
      /** Null for a tool. */
      readonly layer: string | null;
      /** The tool's call; null for a layer. */
      readonly call: Block | null;
    }
  /**
   * A person is asked about a call: `onApproval` first. If that gives no decision, the run ends as `parked` once nothing else of it is under
   * way.
   */
  | {
      readonly type: "approval-requested";
      readonly frame: string;
      readonly call: Block;
      readonly reason: string | null;
      readonly expiresAt: string | null;
    }
  /** The decision about a call: made here, or met when the run goes on after it. */
  | {
      readonly type: "approval-decided";
      readonly frame: string;
      readonly call: Block;
      readonly how: "approve" | "edit" | "deny" | "expire";
      /** The person who decided; the engine, if nobody decided in time. */
      readonly actor: Actor;
      /** The arguments to use instead of the model's, if `how` is `edit`. */
      readonly input?: JsonValue;
      /** A text for the model. */
      readonly message: string | null;
    }
  | { readonly type: "tool-call-start"; readonly frame: string; readonly call: Block }
  | {
      readonly type: "tool-call-end";
      readonly frame: string;
      readonly call: Block;
      readonly result: Block;
      readonly outcome: string;
      readonly durationMs: number;
      /** The arguments were not JSON, or the tool's schema refused them: the tool did not run. */
      readonly isInvalid: boolean;
    }
  /** The last part of a run that ends with a result, also if it waits. */
  | { readonly type: "run-end"; readonly result: RunResult<Output> }
  /** The last part of a run that ends with an error in this process; the caller of the run gets the error itself. */
  | RunFailedPart;

export type RunFailedPart = {
  readonly type: "run-failed";
  /** `left-open`: the run has not ended; another process has it, or the next run continues it. */
  readonly outcome: "failed" | "cancelled" | "left-open";
  /** The kind of the failure as the log has it (`RunFailedError.kind`), or the error's code. */
  readonly kind: string;
  readonly message: string;
  /** The layer that threw the error, and the frame of its call; null if no layer did. */
  readonly thrownBy: { readonly layer: string; readonly frame: string } | null;
};

/** The size of a part that a slow reader may miss, because the log has what follows from it; null for every other part. */
export function partUnits(part: RunPart): number | null {
  if (part.type === "data") return JSON.stringify(part.data).length;
  return "text" in part ? part.text.length : null;
}
