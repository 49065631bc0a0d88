import { labelIn } from "../../analysis/descriptions/labels.ts";
import { excerpt } from "../../base/printable.ts";
import { conversationStream } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import { settleable } from "../../engine/run/settle.ts";
import { tryToRead } from "../../log/codec/recorded.ts";
import { type EventStore, envelopeAt } from "../../log/ports/event-store.ts";
import type { OpenRun } from "../../projections/client-turn/open-run.ts";
import { waitingIn } from "../../projections/views/waiting.ts";
import { RefusedError } from "./failures.ts";
import type { InboxItemDocument, LedBlock } from "./inbox-documents.ts";
import { besideRuns, leftBy } from "./inbox-tail.ts";
import type { Reel } from "./reel.ts";
import { beginningOf } from "./stack-rows.ts";

/** How many blocks are shown of what led to a call. */
const mostLed = 5;

type Asked = {
  /** The block of a call; null for a run as a whole. */
  readonly call: string | null;
  /** As ISO text. */
  readonly now: string;
  readonly going: Pick<InboxItemDocument, "isGoing" | "problem">;
};

/** What a person needs in order to answer what waits in a conversation. */
export async function inboxItemDocument(store: EventStore, reel: Reel, asked: Asked): Promise<InboxItemDocument> {
  if (reel.damage !== null)
    throw new RefusedError(422, "conversation-damaged", {
      message: `${reel.damage.title}, so what waits after it is unknown`,
      hint: "turnlog verify says where the damage begins.",
    });
  const { view, labels } = reel;
  const { run } = view.client;
  const waitingFor = run === null ? [] : waitingIn(run, asked.now);
  const waiting = waitingFor.find(({ blockId }) => blockId === asked.call) ?? null;
  const begun = run === null ? [] : [...(await settleable(run, store))];
  return {
    conversation: reel.id,
    title: view.title ?? reel.groups[0]?.words ?? reel.id,
    revision: reel.rows.length - 1,
    run: run === null ? null : runOf(run, reel),
    waiting,
    others: waitingFor.length - (waiting === null ? 0 : 1),
    begun: begun.map(([blockId, name]) => ({ blockId, name })),
    led: ledTo(reel.turns.at(-1), { call: asked.call, labels }),
    failure: run === null ? await failureOf(store, reel) : null,
    answeredAt: reel.steps.findLast(({ outcome }) => outcome?.isFailure === false)?.outcome?.at ?? null,
    ...asked.going,
  };
}

function runOf({ id, startedAt, startedRevision, owner, epoch }: OpenRun, { rows }: Reel): InboxItemDocument["run"] {
  const place = owner === null ? null : { host: owner.host, pid: owner.pid };
  const left = leftBy(rows.mark(rows.lastRevision(({ type }) => !besideRuns.has(type)))?.type);
  return { id, startedAt, startedRevision, left, owner: place, resumptions: epoch };
}

/** The blocks up to a call; without one, the newest. */
function ledTo(
  turn: Turn | undefined,
  { call, labels: { labels } }: { readonly call: string | null } & Pick<Reel, "labels">,
): readonly LedBlock[] {
  const blocks = turn?.blocks ?? [];
  const found = call === null ? -1 : blocks.findIndex(({ id }) => id === call);
  const last = found < 0 ? blocks.length - 1 : found;
  const first = Math.max(0, last - mostLed + 1);
  return blocks.slice(first, last + 1).map((block, n) => ({
    ...{ index: first + n, id: block.id ?? "", label: labelIn(labels, block), text: beginningOf(block) },
  }));
}

/** Why the last run failed; null if it did not. */
async function failureOf(store: EventStore, reel: Reel): Promise<InboxItemDocument["failure"]> {
  const revision = reel.rows.lastRevision(({ type }) => ends.has(type));
  if (reel.rows.mark(revision)?.type !== "RunFailed") return null;
  const envelope = await envelopeAt(store, conversationStream(reel.id), revision);
  const recorded = envelope === null ? null : await tryToRead(store, envelope);
  if (recorded === null || recorded instanceof Error || recorded.event.type !== "RunFailed") return null;
  const { message, thrownBy } = recorded.event.data;
  return { revision, message: excerpt(message, 600), by: thrownBy?.layer ?? null };
}

const ends: ReadonlySet<string> = new Set(["RunFailed", "RunCompleted", "RunCancelled", "TurnReverted"]);
