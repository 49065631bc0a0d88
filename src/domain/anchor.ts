import * as z from "zod";
import { isJsonObject, type JsonObject } from "../base/json.ts";

/**
 * What a request can name to continue from: the id that a provider's server keeps something under. The kind says what that is
 * (`response`, `conversation`, `thread`, …), and its codec what may be done with that kind; `lives` says where it is, if that is
 * not the server's store: `{ socket }` ends with a connection.
 */
export const anchorSchema = z.strictObject({
  kind: z.string(),
  id: z.string(),
  lives: z.exactOptional(z.custom<JsonObject>(isJsonObject, "a JSON object")),
});
export type Anchor = Readonly<z.infer<typeof anchorSchema>>;

/** What an anchor is, wherever it lives. */
export type AnchorId = Pick<Anchor, "kind" | "id">;

/**
 * Names an anchor by the endpoint that gave its id: another endpoint may give the same one. With the anchor null it names all
 * that the endpoint holds.
 */
export const anchorName = ({ scope, anchor }: { readonly scope: string; readonly anchor: AnchorId | null }): string =>
  JSON.stringify(anchor === null ? [scope] : [scope, anchor.kind, anchor.id]);
