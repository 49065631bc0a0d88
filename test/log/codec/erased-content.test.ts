import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type JsonObject, objectOf } from "../../../src/base/json.ts";
import { plainNames } from "../../../src/domain/block-names.ts";
import { parseConversationEvent } from "../../../src/domain/events/event.ts";
import { decodeData, encodeData, lineWriter } from "../../../src/log/codec/data.ts";
import { linesDigest, withErasedLines } from "../../../src/log/codec/lines.ts";

const goldenEvents = join(import.meta.dirname, "../../golden/events");

/** An event as it is written in lines, without those lines. */
const erasing = (event: Golden, numbers: ReadonlySet<number>) => {
  const { text } = encodeData(
    event.data,
    () => Number.POSITIVE_INFINITY,
    lineWriter(event, { idOf: (sha256) => plainNames.idOfBlob(sha256) }),
  );
  const left = withErasedLines(text, numbers);
  expect(linesDigest(left)).toBe(linesDigest(text));
  return decodeData({ ...event, encoding: "lines", data: left });
};

type Golden = { readonly type: string; readonly version: number; readonly data: JsonObject };

const linesOf = (event: Golden): readonly number[] => {
  const { text } = encodeData(
    event.data,
    () => Number.POSITIVE_INFINITY,
    lineWriter(event, { idOf: (sha256) => plainNames.idOfBlob(sha256) }),
  );
  return text
    .split("\n")
    .slice(1)
    .map((_, index) => index + 1);
};

const golden = readdirSync(goldenEvents)
  .filter((name) => name.endsWith(".json"))
  .map((name) => [name, JSON.parse(readFileSync(join(goldenEvents, name), "utf8")) as Golden] as const);

describe("an event whose lines were erased", () => {
  test.each(golden)("%s can be read without any of its lines", (_, event) => {
    const all = linesOf(event);
    for (const numbers of [all, ...all.map((line) => [line])]) {
      const { data, hasErased } = erasing(event, new Set(numbers));
      expect(hasErased).toBe(numbers.length > 0);
      expect(() => parseConversationEvent(event.type, event.version, data)).not.toThrow();
    }
    expect(objectOf(event.data)).toBe(event.data);
  });
});
