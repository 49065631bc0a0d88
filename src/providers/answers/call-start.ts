import { isFilledText, type JsonValue } from "../../base/json.ts";
import type { ItemStart } from "../../engine/ports/provider.ts";

type Told = { readonly callId?: JsonValue | undefined; readonly name?: JsonValue | undefined };

/** The beginning of a call, with the members that the server has sent by then. */
export const callStart = (outputIndex: number, { callId, name }: Told): ItemStart => ({
  type: "item-start",
  outputIndex,
  kind: "tool-call",
  ...(isFilledText(callId) ? { callId } : {}),
  ...(isFilledText(name) ? { name } : {}),
});
