import * as z from "zod";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";

/** JSON that is kept as it came. It was parsed from JSON text, so only its outermost shape needs a look. */
export const jsonObjectSchema = z.custom<JsonObject>(isJsonObject, "a JSON object");
export const jsonValueSchema = z.custom<JsonValue>((value) => value !== undefined, "a JSON value");

/** How long a layer took for its own work in one direction of one frame, in milliseconds. */
export const passSchema = z.strictObject({
  frame: z.string(),
  layer: z.string(),
  direction: z.enum(["request", "response"]),
  ms: z.number(),
});
export type Pass = z.infer<typeof passSchema>;
