import * as z from "zod";
import { isJsonObject, type JsonObject } from "../base/json.ts";

/**
 * What a request can name to continue from: the id that a provider's server keeps something under. The kind says what that is
 * (`response`, `conversation`, `thread`, …); `lives` says where, if that is not the server's store: `{ socket }` ends with a
 * connection.
 */
export const anchorSchema = z.strictObject({
  kind: z.string(),
  id: z.string(),
  lives: z.exactOptional(z.custom<JsonObject>(isJsonObject, "a JSON object")),
});
export type Anchor = Readonly<z.infer<typeof anchorSchema>>;

/**
 * Whether an anchor is one object that requests add to: only what it holds now can be continued, and by one request at a time.
 * What a response left behind never changes.
 */
export const isObject = (anchor: Pick<Anchor, "kind"> | null): boolean => anchor?.kind === "conversation";

/**
 * Names an anchor by the endpoint that gave its id: another endpoint may give the same one. With the anchor null it names all
 * that the endpoint holds.
 */
export const anchorName = ({ scope, anchor }: { readonly scope: string; readonly anchor: Anchor | null }): string =>
  JSON.stringify(anchor === null ? [scope] : [scope, anchor.kind, anchor.id]);
