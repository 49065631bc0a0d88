import { expect, test } from "vitest";
import { shownText } from "../../../src/analysis/descriptions/shown-text.ts";
import { assistant, audio, file, image, text, toolResult, user } from "../../../src/domain/make-block.ts";

test("what people are shown of a block has its images, files and audio, each by what tells it apart and none by its content", () => {
  expect(shownText(user([text("Look:"), image("https://example.test/a.png"), text("Well?")]))).toBe(
    "Look:\n[image: https://example.test/a.png]\nWell?",
  );
  expect(shownText(user([image("data:image/png;base64,AAAA")]))).toBe("[image: image/png, 26 characters]");
  expect(
    shownText(user([file({ fileId: "file_1" }), file({ name: "a.pdf", data: "data:application/pdf;base64,AA" })])),
  ).toBe("[file: file_1]\n[file: a.pdf, application/pdf, 30 characters]");
  expect(shownText(user([audio("UklGRg==", "wav"), { type: "hologram" }]))).toBe("[audio: wav]\n[hologram]");
  expect(shownText(toolResult({ callId: "c", output: [text("The chart:"), image("gs://b/c.png")] }))).toBe(
    "The chart:\n[image: gs://b/c.png]",
  );
});

test("where there is nothing but text, people are shown the text", () => {
  const data = toolResult({ callId: "c", output: [{ type: "row", n: 1 }] });
  for (const block of [user([text("a"), text("b")]), assistant([{ type: "refusal", refusal: "No." }]), data])
    expect(shownText(block)).toBe(block.text);
});
