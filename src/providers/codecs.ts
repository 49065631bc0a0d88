import type { ItemCodec } from "../engine/stack/provider.ts";
import { responsesItems } from "./responses-items.ts";

/** Every released codec by the name that recorded requests carry: none is ever taken out, for old bodies are rebuilt with it. */
export const codecs: ReadonlyMap<string, ItemCodec> = new Map([[responsesItems.name, responsesItems]]);
