import { messageOf } from "../../base/error-message.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { type Block, idOf } from "../../domain/block.ts";
import { recordableSettlement } from "../options/doubt.ts";
import type { SettledEffect } from "../session/run-answers.ts";
import { engineActor, type RunSession, record } from "../session/session.ts";

type CallInDoubt = { readonly call: Block; readonly frame: string; readonly signal: AbortSignal };

/** Whether a tool says that it cannot know whether its call took effect. */
export const isToolInDoubt = (error: unknown): error is TurnlogError<"tool-in-doubt"> =>
  error instanceof TurnlogError && error.code === "tool-in-doubt";

/**
 * Settles a call whose tool does not know whether it took effect: by the app's `onInDoubt`, or, if that leaves it to a person, by leaving the
 * run as after a crash (rule: Recovery).
 *
 * @throws the signal's reason when it aborts, which is how a run that waits ends its stack.
 */
export async function settledLive(
  session: RunSession,
  { call, frame, signal }: CallInDoubt,
  { isAsked, reason }: { readonly isAsked: boolean; readonly reason: string },
): Promise<SettledEffect> {
  const { run } = session;
  const [blockId, parked] = [idOf(call), parkedCall(call, reason)];
  const settlement = isAsked ? null : await asked(session, call);
  // The event of what it waits for is appended with those of the other calls that wait.
  if (settlement === null) return run.gate.wait({ id: blockId, frame, event: parked }, signal);
  const actor = { kind: "app" } as const;
  record(run, parked, engineActor, frame);
  record(run, { type: "ToolSettled", version: 1, data: { blockId, settlement } }, actor, frame);
  return { state: "settled", settlement, actor };
}

/** The call waits until it is settled, and the log says why if the tool does. */
export function parkedCall(call: Block, reason: string) {
  const said = reason === "" ? {} : { reason };
  return {
    ...({ type: "ToolParked", version: 1 } as const),
    data: { blockId: idOf(call), name: call.name ?? call.type, ...said },
  };
}

/** The app's settlement; null if it leaves the call to a person, or fails. */
async function asked({ run, engine }: RunSession, call: Block): Promise<SettledEffect["settlement"] | null> {
  const [blockId, name] = [idOf(call), call.name ?? call.type];
  try {
    const doubt = { runId: run.id, blockId, name, idempotencyKey: blockId, call };
    const given = (await engine.onInDoubt?.(doubt)) ?? null;
    return given === null ? null : recordableSettlement(given, name);
  } catch (error) {
    const told = `onInDoubt failed, so the run waits until somebody settles the call ${blockId}: ${messageOf(error)}`;
    process.emitWarning(told, "TurnlogWarning");
    return null;
  }
}
