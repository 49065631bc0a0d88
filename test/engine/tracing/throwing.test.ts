import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { createEngine, type OpenTelemetryApi, openStore, tool } from "../../../src/index.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { isLong, isRound } from "../../support/cases.ts";
import { memoryTracer } from "../../support/tracing/tracer.ts";

/** The API with a fault: from the n-th call on, each call of a function throws, before it does its work or after. */
function faulty<Api extends object>(
  api: Api,
  from: number,
  when: "before" | "after",
): { api: Api; calls: () => number } {
  let calls = 0;
  const around = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(object, name) {
        const member: unknown = Reflect.get(object, name);
        if (typeof member === "object" && member !== null) return around(member);
        if (typeof member !== "function") return member;
        return (...given: unknown[]): unknown => {
          calls += 1;
          const isFaulty = calls > from;
          if (isFaulty && when === "before") throw new Error("the tracer is broken");
          const result: unknown = Reflect.apply(member, object, given);
          if (isFaulty) throw new Error("the tracer is broken");
          return typeof result === "object" && result !== null && !(result instanceof Promise)
            ? around(result)
            : result;
        };
      },
    });
  return { api: around(api), calls: () => calls };
}

/** What a run does with a tracer, without ids. */
async function runWith(api: OpenTelemetryApi): Promise<readonly string[]> {
  const store = await openStore("memory:");
  onTestFinished(() => store.close());
  let runs = 0;
  const count = tool({
    ...{ name: "count", description: "c", inputSchema: z.object({}) },
    execute: () => {
      runs += 1;
      if (runs > 1) throw new Error("only once");
      return `run ${runs}`;
    },
  });
  const call = { calls: [{ name: "count", arguments: {} }] };
  const provider = scripted([call, call, { error: { message: "busy", status: 503 } }, "done"], { transport: "sse" });
  const engine = createEngine({
    provider,
    tools: [count],
    sleep: async () => undefined,
    tracing: { api, content: true },
  });
  const conversation = store.conversation("cnv_faulty");
  await conversation.append("go");
  const { status } = await conversation.run(engine);
  const turn = await conversation.turn();
  return [status, String(runs), ...turn.blocks.map(({ kind, text }) => `${kind} ${text}`)];
}

test("a tracer that throws at any call, before or after its work, changes nothing of the run, and nothing runs twice", async () => {
  await using tracer = memoryTracer();
  const counted = faulty(tracer.api, Number.POSITIVE_INFINITY, "before");
  const usual = await runWith(counted.api);
  expect(usual).toContain("tool_result run 1");
  expect(counted.calls()).toBeGreaterThan(40);
  const step = isLong ? 1 : isRound ? 7 : 19;
  for (let from = 0; from <= counted.calls(); from += step)
    for (const when of ["before", "after"] as const) {
      const { api } = faulty(tracer.api, from, when);
      expect(await runWith(api), `${when} call ${from}`).toEqual(usual);
    }
});

test("a context manager that never calls, or calls twice, changes nothing of the run", async () => {
  await using tracer = memoryTracer();
  const usual = await runWith(tracer.api);
  const { context } = tracer.api;
  const never = { ...context, with: () => undefined as never };
  const twice = {
    ...context,
    with: <T>(at: Parameters<typeof context.with>[0], work: () => T): T => {
      context.with(at, work);
      return work();
    },
  };
  for (const broken of [never, twice]) expect(await runWith({ ...tracer.api, context: broken })).toEqual(usual);
});
