import type { JsonObject } from "../../base/json.ts";
import { Block } from "../../domain/block.ts";
import { emptyContext, extendContext } from "../../domain/context.ts";
import type { Decision, InferenceRequestedData, Repair } from "../../domain/events/inference-events.ts";
import type { Turn } from "../../domain/turn.ts";
import type { ItemCodec, Settings } from "../stack/provider.ts";
import { carriesId } from "./groups.ts";
import { abortedOutput } from "./pair-calls.ts";

/** A block as a request carries it. */
export type ShapedBlock = { readonly block: Block; readonly withId: boolean };

type Carriage = { readonly scope: string; readonly itemIds: boolean };

/**
 * The blocks that a request sends: those of the Turn from `from` on, as the repairs leave them. With the recorded repairs
 * it gives the same for ever, whatever becomes of the rules that made them.
 */
export function shapedBlocks(
  turn: Turn,
  from: number,
  repairs: readonly Repair[],
  carriage: Carriage,
): readonly ShapedBlock[] {
  const byIndex = Map.groupBy(repairs, (repair) => (repair.action === "answer" ? repair.before : repair.index));
  const shaped: ShapedBlock[] = [];
  for (const [offset, block] of [...turn.after(from), null].entries()) {
    const here = byIndex.get(from + offset) ?? [];
    for (const repair of here)
      if (repair.action === "answer") shaped.push({ block: aborted(repair.callId), withId: false });
    if (block === null || here.some(({ action }) => action === "omit")) continue;
    const rename = here.find((repair) => repair.action === "rename-call");
    const withId = carriesId(block, carriage) && !here.some(({ action }) => action !== "answer");
    shaped.push({ block: rename === undefined ? block : renamed(block, rename.callId), withId });
  }
  return shaped;
}

/** The items of a request's input. */
export const inputItems = (shaped: readonly ShapedBlock[], codec: ItemCodec): readonly JsonObject[] =>
  shaped.map(({ block, withId }) => codec.requestItem(block, { withId }));

type Parts = {
  /** What the input is made of. */
  readonly turn: Turn;
  readonly settings: Settings;
  readonly codec: ItemCodec;
  readonly request: Pick<InferenceRequestedData, "scope" | "transport">;
};

/** The exact body of a request that was decided so, and the blocks that it sends. */
export function encodeBody(
  { turn, settings, codec, request }: Parts,
  { anchor, sendFrom, repairs, capabilities }: Decision,
): { readonly bodyText: string; readonly shaped: readonly ShapedBlock[] } {
  const shaped = shapedBlocks(turn, sendFrom, repairs, { scope: request.scope, itemIds: capabilities.itemIds });
  const bodyText = codec.encodeRequest({
    settings,
    input: inputItems(shaped, codec),
    previousResponseId: anchor?.responseId ?? null,
    stream: request.transport === "sse",
  });
  return { bodyText, shaped };
}

/** The digest of what a server holds once it has taken these blocks after a context, null for none. */
export const heldContext = (context: string | null, shaped: readonly ShapedBlock[]): string =>
  shaped.reduce(
    (held, { block, withId }) => extendContext(held, withId ? block.digest : withoutItemId(block).digest),
    context ?? emptyContext,
  );

const aborted = (callId: string): Block =>
  new Block({
    id: null,
    kind: "tool_result",
    payload: { type: "function_call_output", call_id: callId, output: abortedOutput },
  });

/** What is known by its call id alone. It is not the item that the provider issued, but the rest of it stays as it was. */
function renamed(block: Block, callId: string): Block {
  const { id, kind, payload, wire } = block;
  return withoutItemId(new Block({ id, kind, payload: { ...payload, call_id: callId }, wire }));
}

function withoutItemId(block: Block): Block {
  if (block.wire?.itemId === undefined) return block;
  const { itemId: _, ...wire } = block.wire;
  return block.withWire(wire);
}
