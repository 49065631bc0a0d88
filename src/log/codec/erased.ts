import * as z from "zod";
import { isJsonObject, textOrNull } from "../../base/json.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Envelope, StoredEnvelope } from "../ports/event-store.ts";

/** The type of the event that stands behind all erased events of a conversation. */
export const contentErased = "ContentErased";

/** What it says: which order erased how many events before it, and what of them was kept. */
export const contentErasedSchema = z.strictObject({
  orderId: z.string(),
  events: z.int().nonnegative(),
  kept: z.enum(["skeleton", "digests"]),
});

/** The conversation was erased: nothing of it can be read, and nothing can be appended to it. */
export class ConversationErasedError extends TurnlogError<"conversation-erased"> {
  override readonly name = "ConversationErasedError";
  readonly stream: string;
  /** The order that asked for it; null where the event that tells is damaged. */
  readonly orderId: string | null;

  constructor({ stream, data }: Pick<Envelope, "stream" | "data">) {
    const orderId = orderIdIn(data);
    const by = orderId === null ? "" : ` by the order ${orderId}`;
    super("conversation-erased", `${stream.replace(/^conversation-/, "")} was erased${by}`);
    this.stream = stream;
    this.orderId = orderId;
  }
}

/** Whether an event is one of a conversation that was erased: one that was emptied, or the one that says so. */
export const isErased = ({ encoding, type }: Pick<Envelope, "encoding" | "type">): boolean =>
  encoding === "erased" || type === contentErased;

/** What stands in the place of the data of an erased event. */
export const erasedData = (orderId: string): string => JSON.stringify({ erasedBy: orderId });

/** The order that an erased event, or the event that says so, names; null where it names none. */
export function orderIdIn(data: string): string | null {
  try {
    const value: unknown = JSON.parse(data);
    return isJsonObject(value) ? (textOrNull(value["erasedBy"]) ?? textOrNull(value["orderId"])) : null;
  } catch {
    return null;
  }
}

/** What is left of an event. */
export function erasedEnvelope(
  { stream, revision, position, digest, type, version, at }: StoredEnvelope,
  { orderId, kept }: { readonly orderId: string; readonly kept: "skeleton" | "digests" },
): StoredEnvelope {
  const skeleton = kept === "skeleton" ? { type, version, at } : { type: "", version: 0, at: "" };
  const place = { id: "", stream, revision, position, ...skeleton, actor: { kind: "engine" } } as const;
  return { ...place, encoding: "erased", data: erasedData(orderId), dataDigest: "", digest };
}
