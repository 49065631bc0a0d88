import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { user } from "../../../src/domain/make-block.ts";
import { Turn } from "../../../src/domain/turn.ts";
import { defaultChainPolicy } from "../../../src/engine/planner/plan.ts";
import { defaultCapabilities } from "../../../src/providers/capabilities.ts";
import {
  type ReferenceServer,
  type ScriptedAnswer,
  startReferenceServer,
} from "../../../src/reference-server/server.ts";
import { type RequestChoice, type Step, steps } from "./arbitrary-exchanges.ts";
import { createExchange, type Exchanged, freshBlockId, type RequestOptions } from "./exchange.ts";
import { answeredCalls, edited } from "./random-turns.ts";

let server: ReferenceServer;
let next: ScriptedAnswer = { output: [] };

beforeAll(async () => {
  server = await startReferenceServer({ answer: () => next });
});
afterAll(() => server[Symbol.asyncDispose]());

const counts = { accepted: 0, chained: 0, rebased: 0, full: 0, repaired: 0 };

async function play(
  script: readonly Step[],
  look: (exchanged: Exchanged, exchange: ReturnType<typeof createExchange>) => void,
) {
  const exchange = createExchange(server);
  const turns: Turn[] = [];
  let itemIds = true;
  let turn = Turn.of([user("Hello.").withId(freshBlockId())]);
  for (const step of script) {
    if (step.do === "edit") turn = edited(turn, step.edit);
    else if (step.do === "answer-calls") turn = answeredCalls(turn, step);
    else if (step.do === "go-back") turn = turns[step.to % Math.max(1, turns.length)] ?? turn;
    else {
      next = step.answer;
      // An endpoint that refused ids once is not given any again.
      itemIds &&= step.options.itemIds;
      const options = optionsOf({ ...step.options, itemIds });
      // Nothing to say at all is the caller's mistake, not shaping's.
      if (exchange.planned(turn, options).shaped.length === 0) continue;
      const exchanged = await exchange.send(turn, options);
      look(exchanged, exchange);
      turns.push(turn, exchanged.turn);
      turn = exchanged.turn;
    }
  }
}

function optionsOf(choice: RequestChoice): RequestOptions {
  const { full, candidates, itemIds, store, encrypted, model } = choice;
  return {
    candidates,
    capabilities: { ...defaultCapabilities, itemIds },
    settings: { model, store, ...(encrypted ? { include: ["reasoning.encrypted_content"] } : {}) },
    policy: { ...defaultChainPolicy, mode: full ? "never" : "auto" },
  };
}

test("the reference server accepts what was shaped of any Turn", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (script) => {
      await play(script, ({ status, answer, decision, bodyText }) => {
        expect({ status, error: answer["error"], ...(status === 200 ? {} : { bodyText, decision }) }).toEqual({
          status: 200,
          error: null,
        });
        counts.accepted += 1;
        counts[decision.strategy] += 1;
        if (decision.repairs.length > 0) counts.repaired += 1;
      });
    }),
    { numRuns: Number(process.env["RUNS"] ?? 150) },
  );
  console.log(counts);
});
