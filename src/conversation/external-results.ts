import { canonicalJson } from "../base/canonical-json.ts";
import { TurnlogError } from "../base/turnlog-error.ts";
import type { Actor } from "../domain/actor.ts";
import type { Block } from "../domain/block.ts";
import type { BlockId } from "../domain/ids.ts";
import { settleCall } from "../engine/run/settle.ts";
import type { ConversationWriter } from "../log/writer/conversation-writer.ts";
import type { OpenRun } from "../projections/client-turn/open-run.ts";
import { undecidedIn } from "../projections/views/waiting.ts";
import type { Appended } from "./conversation-options.ts";

/**
 * Settles the calls of external tools that these results answer, if the open run waits for them; null if it waits for none of them. The run
 * makes the blocks of the Turn from what was settled.
 *
 * @throws {TurnlogError} `no-open-call` for a call that waits for approval, and for results of which only some answer external tools.
 */
export async function settleExternal(
  stream: ConversationWriter,
  results: readonly Block[],
  actor: Actor,
): Promise<Appended | null> {
  const { run } = (await stream.refresh()).client;
  if (run === null) return null;
  for (const result of results) refuseAwaited(run, result);
  const answered = results.map((result) => ({ result, call: externalCall(run, result) }));
  if (answered.every(({ call }) => call === null)) return null;
  let isNew = false;
  for (const { result, call } of answered) {
    if (call === null)
      throw refused(
        result,
        "the other results answer external tools of a run that waits; append it after that run has ended",
      );
    const output = result.payload["output"] ?? "";
    const known = run.settled.get(call)?.settlement;
    // A repeated delivery.
    if (known?.how === "result" && canonicalJson(known.output) === canonicalJson(output)) continue;
    await settleCall(stream, call, { settlement: { how: "result", output }, actor });
    isNew = true;
  }
  return { blocks: results, isNew };
}

/** The call of an external tool that a result answers, whether or not it was settled. */
function externalCall({ parked, settled, effects, turns }: OpenRun, { callId }: Block): BlockId | null {
  const isCall = (id: BlockId): boolean => turns.ownCall(id)?.callId === callId && !turns.isToolStarted(id);
  const waiting = [...parked.keys()].find(isCall);
  return waiting ?? [...settled.keys()].find((id) => isCall(id) && effects.get(id) === "settled") ?? null;
}

function refuseAwaited(run: OpenRun, result: Block): void {
  const asked = undecidedIn(run).find(({ blockId }) => run.turns.ownCall(blockId)?.callId === result.callId);
  if (asked !== undefined) throw refused(result, `it waits for approval: approve or deny the call ${asked.blockId}`);
}

const refused = ({ callId }: Block, why: string): TurnlogError<"no-open-call"> =>
  new TurnlogError("no-open-call", `append: a result for the call "${callId ?? ""}": ${why}`);
