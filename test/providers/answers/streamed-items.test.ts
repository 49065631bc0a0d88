import { expect, test } from "vitest";
import { MessageStream } from "../../../src/providers/anthropic/message-stream.ts";
import { InteractionStream } from "../../../src/providers/google/interaction-stream.ts";

const ignored = (): void => undefined;

/** The processor time of as many items that are open beside each other, and are looked at after every event. */
function costOf(count: number, take: (index: number) => void): number {
  const before = process.cpuUsage();
  for (let index = 0; index < count; index += 1) take(index);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

test("20,000 open items of one stream cost what they are, and not their square", () => {
  const messages = new MessageStream(ignored, 100);
  const begin = (index: number): void => {
    messages.take(null, { type: "content_block_start", index, content_block: { type: "text", text: "" } });
    messages.take(null, { type: "content_block_delta", index, delta: { type: "text_delta", text: "hi" } });
    if (messages.isTooLarge) throw new Error("none has as much");
  };
  const steps = new InteractionStream(ignored, 1_000);
  const step = (index: number): void => {
    steps.take(null, { event_type: "step.start", index, step: { type: "model_output", content: [] } });
    if (steps.isTooLarge) throw new Error("none has as much");
  };
  expect(costOf(20_000, begin)).toBeLessThan(1_500);
  expect(costOf(20_000, step)).toBeLessThan(1_500);
});

test("an item that has more than it may is too large, whatever came beside it", () => {
  const messages = new MessageStream(ignored, 100);
  const text = (index: number, said: string) => {
    messages.take(null, { type: "content_block_start", index, content_block: { type: "text", text: "" } });
    messages.take(null, { type: "content_block_delta", index, delta: { type: "text_delta", text: said } });
  };
  text(0, "x".repeat(100));
  expect(messages.isTooLarge).toBe(false);
  text(1, "x".repeat(101));
  expect(messages.isTooLarge).toBe(true);
});
