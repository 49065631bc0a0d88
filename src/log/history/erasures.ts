import type { BlockId } from "../../domain/ids.ts";
import { linesErased } from "../codec/erased.ts";
import type { EventReader } from "../codec/event-log.ts";
import { readEvent } from "../codec/recorded.ts";

/** When lines were erased that a conversation holds or inherits, and of which blocks. */
export async function erasuresIn(
  { store }: EventReader,
  stream: string,
): Promise<readonly { readonly revision: number; readonly blockIds: readonly BlockId[] }[]> {
  const erasures: { readonly revision: number; readonly blockIds: readonly BlockId[] }[] = [];
  for await (const envelope of store.readStream(stream)) {
    if (envelope.type !== linesErased) continue;
    const { event, revision } = await readEvent(store, envelope);
    if (event.type === "LinesErased") erasures.push({ revision, blockIds: event.data.blockIds });
  }
  return erasures;
}
