import * as z from "zod";
import { isJsonObject, type JsonObject } from "../base/json.ts";

/**
 * An id from which a request can continue: the server stores context under it. `kind` is what the id names (`response`,
 * `conversation`, `thread`, …); the codec knows what requests may do with that kind. `lives` says where the context is kept, if not in
 * the server's store: `{ socket }` ends with a connection.
 */
export const anchorSchema = z.strictObject({
  kind: z.string(),
  id: z.string(),
  lives: z.exactOptional(z.custom<JsonObject>(isJsonObject, "a JSON object")),
});
export type Anchor = Readonly<z.infer<typeof anchorSchema>>;

/** The identity of an anchor, wherever it is kept. */
export type AnchorId = Pick<Anchor, "kind" | "id">;

/**
 * A name for an anchor, qualified by the endpoint, because two endpoints may give the same id. With the anchor null it names
 * everything that the endpoint holds.
 */
export const anchorName = ({ scope, anchor }: { readonly scope: string; readonly anchor: AnchorId | null }): string =>
  JSON.stringify(anchor === null ? [scope] : [scope, anchor.kind, anchor.id]);
