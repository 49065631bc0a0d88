import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isJsonList, isJsonObject, type JsonObject, type JsonValue, jsonOf } from "../../../src/base/json.ts";

/** Recorded traffic lies beside the checkout, and is no part of it. */
const folder = join(import.meta.dirname, "../../../../shared/recorded");

export const hasRecordings = existsSync(folder);

/** Stands in the title of a test that is skipped without recordings. */
export const needsRecordings = hasRecordings ? "" : " (skipped: ../shared/recorded is not there)";

export type Exchange = {
  readonly case: string;
  /** Whose server it was: `openai`, `azure`, `deepseek`, `bedrock-mantle`, `openrouter`. */
  readonly provider: string;
  readonly path: string;
  readonly method: string;
  readonly status: number;
  readonly contentType: string;
  readonly request: JsonObject;
  /** The answer as text: an event stream, or a JSON document. */
  readonly answer: string;
  readonly isStream: boolean;
  /** The response resource that the answer carries, or its error body. */
  readonly response: JsonObject;
};

/** The exchanges of one file: `responses`, `anthropic`, `google`. */
export function recordedExchanges(name = "responses"): readonly Exchange[] {
  return readFileSync(join(folder, `${name}.jsonl`), "utf8")
    .trim()
    .split("\n")
    .flatMap((line) => {
      const { name, exchanges } = objectOf(jsonOf(line));
      return listOf(exchanges).map((exchange) => exchangeOf(textOf(name), objectOf(exchange)));
    });
}

/** The items of an `input` or `output`. */
export const itemsOf = (value: JsonValue | undefined): readonly JsonObject[] =>
  (isJsonList(value) ? value : []).filter(isJsonObject);

function exchangeOf(name: string, exchange: JsonObject): Exchange {
  const { provider, path, method, status, contentType, request, response } = exchange;
  const isStream = typeof response === "string";
  return {
    case: name,
    provider: textOf(provider),
    path: textOf(path),
    method: textOf(method),
    status: Number(status),
    contentType: textOf(contentType),
    request: isJsonObject(request) ? request : {},
    answer: isStream ? response : JSON.stringify(response),
    isStream,
    response: isStream ? finalResponse(response) : objectOf(response),
  };
}

/** The response of the last event, read without the code under test. */
function finalResponse(stream: string): JsonObject {
  const events = stream.split(/\r?\n/).filter((line) => line.startsWith("data:") && !line.includes("[DONE]"));
  const last = events.at(-1) ?? "";
  return objectOf(objectOf(jsonOf(last.slice("data:".length)))["response"]);
}

const textOf = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");
const listOf = (value: JsonValue | undefined): readonly JsonValue[] => (isJsonList(value) ? value : []);
const objectOf = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : {});
