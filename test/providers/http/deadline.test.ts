import { getEventListeners } from "node:events";
import { afterEach, expect, test, vi } from "vitest";
import { createDeadline } from "../../../src/providers/http/deadline.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { ask } from "../../support/providers/inferences.ts";
import { answering, type Loopback, serve } from "../../support/providers/loopback.ts";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test("a deadline aborts when the time is up, and when the caller does", () => {
  vi.useFakeTimers();
  const controller = new AbortController();
  using timed = createDeadline(controller.signal, 1_000);
  vi.advanceTimersByTime(999);
  expect(timed.signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(timed.signal).toMatchObject({ aborted: true, reason: new Error("no answer within 1000 ms") });
  using left = createDeadline(controller.signal, 1_000);
  controller.abort(new Error("enough"));
  expect(left.signal.reason).toEqual(new Error("enough"));
});

const response = { id: "resp_1", object: "response", status: "completed", output: [] };
const provider = ({ baseURL }: Loopback) => openaiResponses({ model: "m", apiKey: "sk-test", baseURL });

test.each<[string, (provider: ReturnType<typeof openaiResponses>, signal: AbortSignal) => Promise<unknown>]>([
  ["infer", (asked, signal) => ask(asked, { transport: "json", signal })],
  ["waitFor", (asked, signal) => asked.waitFor("resp_1", { signal, settings: {} })],
  ["cancel", (asked, signal) => asked.cancel("resp_1", { signal })],
  ["retrieve", (asked, signal) => asked.retrieve("resp_1", { signal })],
  ["delete", (asked, signal) => asked.delete("resp_1", { signal })],
])("%s leaves no timer behind, and nothing at the caller's signal", async (_name, call) => {
  await using server = await serve(answering(response));
  const timeouts = vi.spyOn(globalThis, "setTimeout");
  const clears = vi.spyOn(globalThis, "clearTimeout");
  const { signal } = new AbortController();
  await call(provider(server), signal);
  expect(server.received).toHaveLength(1);
  expect(getEventListeners(signal, "abort")).toEqual([]);
  const cleared = clears.mock.calls.map(([timer]) => timer);
  const tenMinutes = timeouts.mock.results.filter((_result, index) => timeouts.mock.calls[index]?.[1] === 600_000);
  expect(tenMinutes.length).toBeGreaterThan(0);
  for (const { value } of tenMinutes) expect(cleared).toContain(value);
});
