import { expect, test } from "vitest";
import { sha256Hex } from "../../src/base/sha256.ts";
import { plainNames, survivingNames } from "../../src/domain/block-names.ts";

const recordedAs = plainNames.nameOf(sha256Hex("an old name"));

test("names whose key is lost keep one block of each name, however often events are read", () => {
  const names = survivingNames("0".repeat(64));
  let hashed = 0;
  const note = (content: string, isErased: boolean): void =>
    names.note?.({
      recordedAs,
      isErased,
      get digest() {
        hashed += 1;
        return sha256Hex(content);
      },
    });
  const read = (): void => {
    for (let time = 0; time < 3; time += 1) note("content", false);
    for (let time = 0; time < 3; time += 1) note("stand-in", true);
  };
  read();
  expect([names.nameOf(sha256Hex("content")), names.nameOf(sha256Hex("stand-in"))]).toEqual([recordedAs, recordedAs]);
  const first = hashed;
  read();
  expect(names.nameOf(sha256Hex("content"))).toBe(recordedAs);
  expect(hashed).toBe(first);
  expect(names.nameOf(sha256Hex("another content"))).not.toBe(recordedAs);
});
