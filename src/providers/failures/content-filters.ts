import { isJsonList, isJsonObject, type JsonValue, objectOf, textOrNull } from "../../base/json.ts";
import type { ContentFilter } from "../../domain/events/inference-events.ts";

/** The results of content filters in an answer's `content_filters` (Azure OpenAI's documentation), in turnlog's form. */
export function contentFiltersIn(given: JsonValue | undefined): readonly ContentFilter[] {
  if (!isJsonList(given)) return [];
  return given.filter(isJsonObject).map((filter) => ({
    source: textOrNull(filter["source_type"]) ?? "unknown",
    blocked: filter["blocked"] === true,
    results: resultsIn(filter["content_filter_results"]),
  }));
}

/** The same for the body of a refusal, which has them as answers do, or only the results under `innererror`. */
export function contentFiltersOfError(body: JsonValue | undefined): readonly ContentFilter[] {
  const outer = objectOf(body);
  const response = objectOf(outer["response"]);
  const errors = [objectOf(outer["error"]), objectOf(response["error"]), outer];
  const listed = [...errors, response].flatMap((error) => contentFiltersIn(error["content_filters"]));
  if (listed.length > 0) return listed;
  const inner = errors.map((error) => objectOf(error["innererror"]));
  const given = inner.map((error) => error["content_filter_result"] ?? error["content_filter_results"]);
  const results = given.map(resultsIn).find((found) => Object.keys(found).length > 0);
  return results === undefined ? [] : [{ source: "prompt", blocked: true, results }];
}

function resultsIn(given: JsonValue | undefined): ContentFilter["results"] {
  const named = Object.entries(objectOf(given)).flatMap(([category, result]) => {
    if (!isJsonObject(result)) return [];
    const { filtered, severity, detected } = result;
    const found = {
      filtered: filtered === true,
      ...(typeof severity === "string" ? { severity } : {}),
      ...(typeof detected === "boolean" ? { detected } : {}),
    };
    return [[category, found] as const];
  });
  return Object.fromEntries(named);
}
