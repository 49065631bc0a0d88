import * as z from "zod";
import { isJsonObject, textOrNull } from "../../base/json.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Envelope, StoredEnvelope } from "../ports/event-store.ts";

/** The type of the event that follows all erased events of a conversation. */
export const contentErased = "ContentErased";

/** The type of the event that follows an erasure of single lines; the conversation goes on. */
export const linesErased = "LinesErased";

/** The data of a `ContentErased`: the order, the number of events erased before it, and what was kept of them. */
export const contentErasedSchema = z.strictObject({
  orderId: z.string(),
  events: z.int().nonnegative(),
  kept: z.enum(["skeleton", "digests"]),
});

/** The conversation was erased: it can be neither read nor appended to. */
export class ConversationErasedError extends TurnlogError<"conversation-erased"> {
  override readonly name = "ConversationErasedError";
  readonly stream: string;
  /** The erasure order; null if the event that names it is damaged. */
  readonly orderId: string | null;

  constructor({ stream, data }: Pick<Envelope, "stream" | "data">) {
    const orderId = orderIdIn(data);
    const by = orderId === null ? "" : ` by the order ${orderId}`;
    super("conversation-erased", `${stream.replace(/^conversation-/, "")} was erased${by}`);
    this.stream = stream;
    this.orderId = orderId;
  }
}

/** Whether an event belongs to an erased conversation: an emptied event, or the `ContentErased`. */
export const isErased = ({ encoding, type }: Pick<Envelope, "encoding" | "type">): boolean =>
  encoding === "erased" || type === contentErased;

/** The data of an erased event. */
export const erasedData = (orderId: string): string => JSON.stringify({ erasedBy: orderId });

/** The order that an erased event or a `ContentErased` names; null if it names none. */
export function orderIdIn(data: string): string | null {
  try {
    // Of data in lines, the facts are the first.
    const value: unknown = JSON.parse(data.split("\n", 1)[0] ?? "");
    return isJsonObject(value) ? (textOrNull(value["erasedBy"]) ?? textOrNull(value["orderId"])) : null;
  } catch {
    return null;
  }
}

/** The rest of an event after erasure. */
export function erasedEnvelope(
  { stream, revision, position, digest, type, version, at }: StoredEnvelope,
  { orderId, kept }: { readonly orderId: string; readonly kept: "skeleton" | "digests" },
): StoredEnvelope {
  const skeleton = kept === "skeleton" ? { type, version, at } : { type: "", version: 0, at: "" };
  const place = { id: "", stream, revision, position, ...skeleton, actor: { kind: "engine" } } as const;
  return { ...place, encoding: "erased", data: erasedData(orderId), dataDigest: "", digest };
}
