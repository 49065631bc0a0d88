import type { Actor } from "../../domain/actor.ts";
import { idOf } from "../../domain/block.ts";
import type { ProposedEvent } from "../../domain/events/recorded.ts";
import type { Settlement } from "../../domain/events/tool-events.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { EventStore } from "../../log/ports/event-store.ts";
import type { ConversationWriter } from "../../log/writer/conversation-writer.ts";
import { knownLifeIn } from "../../log/writer/owner.ts";
import type { OpenRun } from "../../projections/client-turn/open-run.ts";
import { idInDoubt, notInDoubt, recordableSettlement } from "../options/doubt.ts";

/**
 * The names of the calls and effects of a run that can be settled, by block id: those that are in doubt or of external tools and, if no living
 * process owns the run, every call that had begun, because no process will record its end.
 */
export const settleable = async (run: OpenRun, store: EventStore): Promise<ReadonlyMap<BlockId, string>> =>
  callsOf(run, await isOwned(run, store));

const isOwned = async ({ owner }: OpenRun, store: EventStore): Promise<boolean> =>
  owner !== null && (await knownLifeIn(store, owner)) !== "dead";

function callsOf({ parked, turns }: OpenRun, owned: boolean): ReadonlyMap<BlockId, string> {
  const waiting = [...parked].map(([id, { name }]) => [id, name] as const);
  if (owned) return new Map(waiting);
  const begun = turns.openCalls.filter((call) => turns.isToolStarted(idOf(call)));
  return new Map([...waiting, ...begun.map((call) => [idOf(call), call.name ?? call.type] as const)]);
}

/**
 * Records the outcome of a call or effect in doubt; the next run continues with it.
 *
 * @throws {TurnlogError} `not-in-doubt` if nothing of that id or name waits to be settled.
 * @throws {TypeError} if several have that name, or the output is not JSON.
 */
export async function settleCall(
  writer: ConversationWriter,
  call: string,
  { settlement, actor }: { readonly settlement: Settlement; readonly actor: Actor },
): Promise<void> {
  const settled = recordableSettlement(settlement, call);
  const { run } = (await writer.refresh()).client;
  const { id, epoch } = run ?? {};
  const owned = run !== null && (await isOwned(run, writer.log.store));
  const inDoubt = run === null ? new Map<BlockId, string>() : callsOf(run, owned);
  const blockId = idInDoubt(call, inDoubt);
  const name = inDoubt.get(blockId) ?? call;
  const isExternal = run?.parked.get(blockId)?.hasBegun === false;
  if (isExternal && settled.how === "rerun")
    throw new TypeError(
      `settling ${name}: the engine does not run external tools: give { how: "result", output }, or { how: "abandon" }`,
    );
  const events: readonly ProposedEvent["event"][] = [
    // Adds nothing if it is already parked.
    { type: "ToolParked", version: 1, data: { blockId, name } },
    { type: "ToolSettled", version: 1, data: { blockId, settlement: settled } },
  ];
  const { status } = await writer.commit(
    events.map((event) => ({ event, actor, runId: id })),
    ({ client }) => {
      // Another process may have taken the run over, and be executing the call.
      const now = client.run;
      const isAnother = now?.id !== id || now?.epoch !== epoch;
      if (now === null || isAnother || !callsOf(now, owned).has(blockId)) throw notInDoubt(call);
    },
  );
  if (status === "rejected") throw notInDoubt(call);
}
