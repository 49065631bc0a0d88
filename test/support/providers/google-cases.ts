import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isJsonList, isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../../src/base/json.ts";

/** Recorded traffic lies beside the checkout, and is no part of it. */
const folder = join(import.meta.dirname, "../../../../shared/recorded");
/** Cases of the other file went on at Google's, too. */
const files = ["google.jsonl", "anthropic.jsonl"].map((name) => join(folder, name));

export const hasGoogleRecordings = files.every((file) => existsSync(file));

/** Stands in the title of a test that is skipped without recordings. */
export const needsGoogleRecordings = hasGoogleRecordings
  ? ""
  : " (skipped: google.jsonl and anthropic.jsonl of ../shared/recorded are not there)";

/** A request of generateContent and what answered it. */
export type GoogleExchange = {
  readonly case: string;
  readonly path: string;
  readonly model: string;
  readonly request: JsonObject;
  readonly contents: readonly JsonObject[];
  /** The answer as text: an event stream, or a JSON document. */
  readonly answer: string;
  readonly isStream: boolean;
  readonly contentType: string;
  /** The responses that the answer is made of: one, or the chunks of a stream. */
  readonly responses: readonly JsonObject[];
};

export function googleExchanges(): readonly GoogleExchange[] {
  const lines = files.flatMap((file) => readFileSync(file, "utf8").trim().split("\n"));
  const cases = lines.map(parseJson).filter(isJsonObject);
  return cases.flatMap(({ name, exchanges }) =>
    objectsIn(exchanges)
      .filter(({ path }) => textOf(path).includes("enerateContent"))
      .map((exchange) => exchangeOf(textOf(name), exchange)),
  );
}

function exchangeOf(name: string, { path, request, response, contentType }: JsonObject): GoogleExchange {
  const isStream = typeof response === "string";
  const body = isJsonObject(request) ? request : {};
  const events = isStream ? response.split(/\r?\n/).filter((line) => line.startsWith("data:")) : [];
  return {
    ...{ case: name, path: textOf(path), request: body, contents: objectsIn(body["contents"]), isStream },
    model: /models\/([^:]+):/.exec(textOf(path))?.[1] ?? "",
    contentType: textOf(contentType),
    answer: isStream ? response : JSON.stringify(response),
    responses: isStream
      ? events.map((line) => parseJson(line.slice("data:".length))).filter(isJsonObject)
      : objectsIn([response ?? null]),
  };
}

const objectsIn = (value: JsonValue | undefined): readonly JsonObject[] =>
  isJsonList(value) ? value.filter(isJsonObject) : [];

/** The parts of the first candidate. */
export function partsIn({ candidates }: JsonObject): readonly JsonObject[] {
  const [candidate] = objectsIn(candidates);
  const content = candidate?.["content"];
  return isJsonObject(content) ? objectsIn(content["parts"]) : [];
}

const textOf = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");
