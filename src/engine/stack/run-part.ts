import type { Block } from "../../domain/block.ts";
import type { Decision } from "../../domain/events/inference-events.ts";
import type { Compaction } from "../../domain/events/shared.ts";
import type { Turn } from "../../domain/turn.ts";
import type { Usage } from "../../projections/usage.ts";
import type { BudgetLimit } from "./budget.ts";
import type { RunResult } from "./result.ts";

/** What a run shows while it happens. Never stored: the log gets the final items. */
export type RunPart<Output = unknown> =
  | { readonly type: "run-start"; readonly runId: string }
  /** A run that was cut off goes on from here; what it had shown before is not shown again. */
  | { readonly type: "resumed"; readonly runId: string; readonly turn: Turn }
  | {
      readonly type: "request-start";
      readonly frame: string;
      readonly attempt: number;
      /** Who is asked, by the name in `otherProviders`; null for the engine's own provider. */
      readonly route: string | null;
      readonly decision: Decision;
      readonly requestBytes: number;
    }
  | { readonly type: "text-delta"; readonly frame: string; readonly outputIndex: number; readonly text: string }
  | { readonly type: "reasoning-delta"; readonly frame: string; readonly outputIndex: number; readonly text: string }
  | { readonly type: "tool-call-delta"; readonly frame: string; readonly outputIndex: number; readonly text: string }
  /** What an answer has cost, as the provider tells it: while it comes, where it tells so then, and once it is there. */
  | { readonly type: "usage"; readonly frame: string; readonly usage: Usage }
  /** The next request is over the run's budget, and is sent: its `onExceeded` says so. */
  | {
      readonly type: "budget-exceeded";
      readonly frame: string;
      readonly limit: BudgetLimit;
      readonly tokens: number;
      readonly max: number;
    }
  /** The engine made the Turn shorter, before a request or at the end of the run. */
  | { readonly type: "compacted"; readonly frame: string; readonly compaction: Compaction }
  /** The next request carries encrypted reasoning that is older than the engine's `reasoning.warnAfterMs`, the oldest since then. */
  | { readonly type: "reasoning-aged"; readonly frame: string; readonly blocks: number; readonly oldestAt: string }
  /** The reader was slower than the run: here stood so many deltas. The blocks that follow are whole. */
  | { readonly type: "deltas-dropped"; readonly count: number }
  | { readonly type: "block"; readonly frame: string; readonly block: Block }
  /** The deltas of this attempt do not count: it failed. The next begins so much later, where the request is sent again. */
  | {
      readonly type: "attempt-discarded";
      readonly frame: string;
      readonly attempt: number;
      readonly reason: string;
      readonly retryInMs?: number;
    }
  | { readonly type: "tool-call-start"; readonly frame: string; readonly call: Block }
  | {
      readonly type: "tool-call-end";
      readonly frame: string;
      readonly call: Block;
      readonly result: Block;
      readonly outcome: string;
      readonly durationMs: number;
    }
  | { readonly type: "run-end"; readonly result: RunResult<Output> };
