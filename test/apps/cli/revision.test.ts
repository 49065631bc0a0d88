import { expect, test } from "vitest";
import { parsePlace } from "../../../src/apps/cli/revision.ts";

const number = (revision: number) => ({ type: "number", revision });

test.each([
  ["cnv_8f3k", "cnv_8f3k", { type: "none" }],
  ["cnv_8f3k@120", "cnv_8f3k", { type: "one", revision: number(120) }],
  ["cnv_8f3k@-1", "cnv_8f3k", { type: "one", revision: number(-1) }],
  ["cnv_8f3k@resp_0a1", "cnv_8f3k", { type: "one", revision: { type: "response", prefix: "resp_0a1" } }],
  ["cnv_8f3k@100..120", "cnv_8f3k", { type: "range", from: number(100), to: number(120) }],
  ["cnv_8f3k@-5..-1", "cnv_8f3k", { type: "range", from: number(-5), to: number(-1) }],
  ["cnv_8f3k@100..", "cnv_8f3k", { type: "range", from: number(100), to: number(-1) }],
  ["cnv_8f3k@..7", "cnv_8f3k", { type: "range", from: number(0), to: number(7) }],
  [
    "cnv_8f3k@resp_a..resp_b",
    "cnv_8f3k",
    { type: "range", from: { type: "response", prefix: "resp_a" }, to: { type: "response", prefix: "resp_b" } },
  ],
  ["@last", "@last", { type: "none" }],
  ["@last@3", "@last", { type: "one", revision: number(3) }],
  ["8f3k@0", "8f3k", { type: "one", revision: number(0) }],
])("reads %s", (text, conversation, at) => {
  expect(parsePlace(text)).toEqual({ conversation, at });
});

test.each([
  "",
  "@",
  "@-1",
  "@120",
  "cnv_8f3k@",
  "cnv_8f3k@1.5",
  "cnv_8f3k@+1",
  "cnv_8f3k@1...2",
  "cnv_8f3k@1@2",
  "@last@",
])("refuses '%s' as a usage error", (text) => {
  expect(() => parsePlace(text)).toThrow(expect.objectContaining({ code: "usage" }));
});
