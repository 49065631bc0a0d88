import { expect, test } from "vitest";
import type { StreamDelta } from "../../../src/engine/ports/provider.ts";
import { ResponseStream } from "../../../src/providers/responses/response-stream.ts";

test("a stream that is taken up passes over the events that had come before, and tells each delta once", () => {
  const deltas: StreamDelta[] = [];
  const stream = new ResponseStream((delta) => deltas.push(delta));
  const item = { type: "message", id: "msg_1", role: "assistant", content: [] };
  const events = [
    { type: "response.output_item.added", output_index: 0, item, sequence_number: 0 },
    { type: "response.output_text.delta", output_index: 0, delta: "It is ", sequence_number: 1 },
    { type: "response.output_text.delta", output_index: 0, delta: "so.", sequence_number: 2 },
  ];
  for (const event of events.slice(0, 2)) stream.take(null, event);
  expect(stream.cursor).toBe(1);
  stream.takeUp();
  // A server that does not look at where it is to begin says all of it again.
  for (const event of events) stream.take(null, event);
  expect(stream.cursor).toBe(2);
  const told = deltas.flatMap((delta) => (delta.type === "text-delta" ? [delta.text] : []));
  expect(told.join("")).toBe("It is so.");
});
