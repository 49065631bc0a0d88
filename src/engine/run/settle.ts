import type { Actor } from "../../domain/actor.ts";
import { idOf } from "../../domain/block.ts";
import type { ProposedEvent } from "../../domain/events/recorded.ts";
import type { Settlement } from "../../domain/events/tool-events.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { EventStore } from "../../log/ports/event-store.ts";
import type { ConversationWriter } from "../../log/writer/conversation-writer.ts";
import { knownLifeIn } from "../../log/writer/owner.ts";
import type { OpenRun } from "../../projections/open-run.ts";
import { idInDoubt, notInDoubt, recordableSettlement } from "../stack/doubt.ts";

/**
 * What can be settled of a run, by block id: their names. That is what the run is parked for, and of a run that no living process
 * owns also every call that had begun: nobody will tell its end any more.
 */
export const settleable = async (run: OpenRun, store: EventStore): Promise<ReadonlyMap<BlockId, string>> =>
  callsOf(run, await isOwned(run, store));

const isOwned = async ({ owner }: OpenRun, store: EventStore): Promise<boolean> =>
  owner !== null && (await knownLifeIn(store, owner)) !== "dead";

function callsOf({ inDoubt, turns }: OpenRun, owned: boolean): ReadonlyMap<BlockId, string> {
  if (owned) return inDoubt;
  const begun = turns.openCalls.filter((call) => turns.isToolStarted(idOf(call)));
  return new Map([...inDoubt, ...begun.map((call) => [idOf(call), call.name ?? call.type] as const)]);
}

/**
 * Says what became of a call or effect in doubt; the next run goes on with it.
 *
 * @throws {TurnlogError} `not-in-doubt` when nothing of that id or name waits to be settled.
 * @throws {TypeError} when the name stands for several, and when the output is no JSON.
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
  const events: readonly ProposedEvent["event"][] = [
    // Nothing where it is parked already.
    { type: "ToolParked", version: 1, data: { blockId, name } },
    { type: "ToolSettled", version: 1, data: { blockId, settlement: settled } },
  ];
  const { status } = await writer.commit(
    events.map((event) => ({ event, actor, runId: id })),
    ({ client }) => {
      // Another process may have taken the run up meanwhile, and be at the call.
      const now = client.run;
      const isAnother = now?.id !== id || now?.epoch !== epoch;
      if (now === null || isAnother || !callsOf(now, owned).has(blockId)) throw notInDoubt(call);
    },
  );
  if (status === "rejected") throw notInDoubt(call);
}
