import { isAside } from "../../domain/frame.ts";
import { freezeAll } from "../../domain/freeze-all.ts";
import type { EngineOptions } from "../options/engine.ts";
import type { RunPart } from "../options/run-part.ts";
import type { LiveRun } from "../session/session.ts";
import { type Sink, sinkOf } from "./sink.ts";

type Watched = {
  readonly engine: Pick<EngineOptions, "observers">;
  readonly onPart: ((part: RunPart) => unknown) | undefined;
  readonly beginning: { readonly runId: string; readonly before: { readonly isAnsweredOnly?: true } | null };
};

/**
 * Passes parts to the observers. While the log answers there is nothing new to show; the
 * first new part comes after the current state of the run.
 */
export function partTeller(
  { engine, onPart, beginning: { runId, before } }: Watched,
  { conversationId, turns, journal }: Pick<LiveRun, "conversationId" | "journal"> & Pick<LiveRun["fold"], "turns">,
): Pick<LiveRun, "emit" | "isObserved"> {
  const sinks: readonly Pick<Sink, "take">[] = [
    ...new Set(engine.observers.map(sinkOf)),
    // The reader of a stream has a buffer of its own.
    ...(onPart === undefined ? [] : [{ take: onPart }]),
  ];
  if (sinks.length === 0) return { emit: () => undefined, isObserved: false };
  let sequence = 0;
  const tell = (part: RunPart): void => {
    const place = Object.freeze({ conversationId, runId, sequence });
    sequence += 1;
    freezeAll(part);
    for (const sink of sinks) sink.take(part, place);
  };
  let isTold = before === null;
  let isOver = false;
  /** Decisions that are met before all of the log is. */
  const early: RunPart[] = [];
  // Only decided calls are answered then: nothing of the log is met again.
  const isReplaying = (): boolean => before?.isAnsweredOnly !== true && journal.isReplaying;
  const emit = (part: RunPart): void => {
    // Requests of layers beside the conversation are not part of the answer.
    if (isOver || ("frame" in part && isAside(part.frame))) return;
    isOver = isLast(part);
    if (isReplaying() && part.type !== "run-failed") {
      if (isDecision(part)) early.push(part);
      return;
    }
    if (!isTold && !isReplaying()) {
      isTold = true;
      tell({ type: "resumed", runId, turn: turns.working("frame" in part ? part.frame : "0") });
    }
    for (const met of early.splice(0)) tell(met);
    tell(part);
  };
  return { emit, isObserved: true };
}

/** A tool may go on after its run has ended. */
const isLast = ({ type }: RunPart): boolean => type === "run-end" || type === "run-failed";

/** What people are asked and decide is new, whatever the log still answers. */
const isDecision = ({ type }: RunPart): boolean => type === "approval-requested" || type === "approval-decided";
