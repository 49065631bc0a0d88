import { frozenJson } from "../../base/frozen-json.ts";
import type { JsonValue } from "../../base/json.ts";
import { checkText } from "../../base/options.ts";

/**
 * The members of a `data` part, checked whether or not anybody watches: a run does the same either way.
 *
 * @throws {TypeError} if the name is empty, or the data is not JSON.
 */
export const emitted = (name: string, data: JsonValue): { readonly name: string; readonly data: JsonValue } => ({
  name: checkText("ctx.emit: name", name, "the name that readers of the run look for"),
  data: frozenJson(data, `ctx.emit '${name}': data`),
});
