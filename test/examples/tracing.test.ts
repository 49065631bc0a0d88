import { trace } from "@opentelemetry/api";
import { expect, onTestFinished, test } from "vitest";
import { tracedRun, tree } from "../../examples/tracing.ts";

test("the example of tracing prints a run's spans, each within the one that it belongs to", async () => {
  onTestFinished(() => trace.disable());
  const lines = [...tree(await tracedRun("phoenix"))];
  expect(lines.map((line) => line.replace(/ \{.*/, ""))).toEqual([
    "invoke_agent guide",
    "  step 1",
    "    chat scripted",
    "    execute_tool weather",
    "  step 2",
    "    chat scripted",
  ]);
  expect(lines[2]).toContain('"openinference.span.kind":"LLM"');
});
