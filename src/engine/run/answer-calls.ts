import { type Block, idOf } from "../../domain/block.ts";
import { blockFromJson } from "../../domain/block-json.ts";
import { namedBlockId } from "../../domain/ids.ts";
import { type Permit, permitBy, tellDecided } from "../effects/permit.ts";
import { answerCall } from "../effects/run-tool.ts";
import type { Journal } from "../session/journal.ts";
import type { PastCall, PastEffect } from "../session/run-answers.ts";
import type { RunSession } from "../session/session.ts";

/** A call that somebody outside of the run has decided or settled, and that has no result yet. */
export type DecidedCall = {
  readonly call: Block;
  readonly frame: string;
  readonly past: Extract<PastEffect, { readonly state: "none" | "settled" }>;
  readonly permit: Permit | null;
  /** Null for a call of an external tool. */
  readonly decision: NonNullable<PastCall["approval"]>["decision"];
};

/** The decided calls of a run, by its log. */
export function decidedCalls({ log, turns }: Journal): readonly DecidedCall[] {
  return [...log.effects.values()].flatMap(({ id, isCall, frame, past, approval }): DecidedCall[] => {
    const call = isCall ? turns.ownCall(id) : null;
    if (call === null || (past.state !== "none" && past.state !== "settled")) return [];
    if (approval === null) return [{ call, frame, past, permit: null, decision: null }];
    const { asked, decision } = approval;
    if (decision === null) return [];
    const known = asked.call === undefined ? turns.version(id, asked.inputDigest) : blockFromJson(asked.call);
    const approved = known ?? call;
    const permit = permitBy(decision.data, { ...decision, asked, call: approved });
    return [{ call: approved, frame, past, permit, decision }];
  });
}

/** Answers the calls without the stack that made them. */
export async function answerCalls(session: RunSession, calls: readonly DecidedCall[]): Promise<void> {
  const { run, engine } = session;
  await Promise.all(
    calls.map((decided) => {
      const { call, frame, decision } = decided;
      if (decision !== null) tellDecided(run, { call, frame, decision });
      const tool = engine.tools.find(({ name }) => name === call.name);
      // The frames of the run have used other ids.
      const resultId = namedBlockId(`decided ${run.id} ${idOf(call)}`);
      return answerCall(session, { ...decided, tool, resultId, signal: run.running });
    }),
  );
  await run.recorder.flush();
}
