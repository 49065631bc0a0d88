import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type ReferenceServer,
  type ScriptedAnswer,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import { isJsonObject } from "../../../src/base/json.ts";
import type { Block } from "../../../src/domain/block.ts";
import { emptyContext, extendContext } from "../../../src/domain/context.ts";
import { decisionSchema } from "../../../src/domain/events/inference-events.ts";
import { user } from "../../../src/domain/make-block.ts";
import { Turn } from "../../../src/domain/turn.ts";
import { defaultChainPolicy } from "../../../src/engine/options/chain-policy.ts";
import { buildRequest, shapedBlocks } from "../../../src/engine/planning/build-request.ts";
import { shape } from "../../../src/engine/planning/shape.ts";
import { unwantedReason } from "../../../src/engine/planning/unwanted-reasoning.ts";
import type { ServerContext } from "../../../src/projections/server-contexts/server-contexts.ts";
import { responsesCodec } from "../../../src/providers/responses/responses-codec.ts";
import { defaultCapabilities } from "../../../src/providers/settings/capabilities.ts";
import { cases, isTelling } from "../../support/cases.ts";
import { type RequestChoice, type Step, steps } from "../../support/planning/arbitrary-exchanges.ts";
import {
  createExchange,
  type Exchanged,
  freshBlockId,
  type Planned,
  type RequestOptions,
  scope,
} from "../../support/planning/exchange.ts";
import { answeredCalls, edited } from "../../support/planning/random-turns.ts";

const numRuns = cases(18, 10_000, 100);
const timeoutMs = 30 * 60_000;

let server: ReferenceServer;
let next: ScriptedAnswer = { output: [] };

beforeAll(async () => {
  server = await startReferenceServer({ answer: () => next });
});
afterAll(() => server[Symbol.asyncDispose]());

describe("over random exchanges with a server, with random edits between them", () => {
  test("the server accepts every request", { timeout: timeoutMs }, async () => {
    const counts = { chained: 0, rebased: 0, full: 0, repaired: 0 };
    await playMany(({ status, answer, decision, bodyText }) => {
      expect({ status, error: answer["error"], ...(status === 200 ? {} : { bodyText, decision }) }).toEqual({
        status: 200,
        error: null,
      });
      counts[decision.strategy] += 1;
      if (decision.repairs.length > 0) counts.repaired += 1;
    });
    // All kinds occur, or the test says nothing about them.
    if (isTelling) expect(Math.min(...Object.values(counts))).toBeGreaterThan(numRuns / 10);
  });

  test("what the server holds is what the digest says: the anchor's context and the shaped blocks", {
    timeout: timeoutMs,
  }, async () => {
    await playMany(({ context }) => {
      const items = server.context(context?.responseId ?? "") ?? [];
      expect(items.length).toBeGreaterThan(0);
      expect(digestOf(items)).toBe(context?.held);
    });
  });

  test("no longer context could have been continued from", { timeout: timeoutMs }, async () => {
    let anchored = 0;
    const look: Look = ({ decision, request }, known) => {
      const candidates = request.candidates === "newest" ? known.slice(-1) : known;
      const lengths = candidates.filter((context) => isContinuable(context, request)).map(({ length }) => length);
      const mayChain = request.policy.mode === "chained";
      expect(decision.anchor?.length ?? 0).toBe(mayChain ? Math.max(0, ...lengths) : 0);
      if (decision.anchor !== null) anchored += 1;
    };
    await playMany(look);
    // Nothing but reasoning of another model, and what cannot go without it, follows the only context.
    await playMany(look, { seed: 2_053_976_162, path: "89", numRuns: 1 });
    // A copy of a compaction, and of what is before it, follows the only context.
    await playMany(look, { seed: 1_795_482_184, path: "50:0:2:1:3:3:4:4:5:1:1:1:1:1:0:0", numRuns: 1 });
    if (isTelling) expect(anchored).toBeGreaterThan(numRuns / 2);
  });

  test("the body that arrived is rebuilt from the recorded decision, the Turn and the settings", {
    timeout: timeoutMs,
  }, async () => {
    await playMany(({ request, decision, turn, context }) => {
      const recorded = decisionSchema.parse(JSON.parse(JSON.stringify(decision)));
      const outgoing = turn.slice(context?.inputLength ?? 0);
      const { bodyText } = buildRequest({ ...request, turn: outgoing }, recorded);
      expect(bodyText).toBe(server.requests.at(-1)?.bodyText);
    });
  });
});

type Look = (exchanged: Exchanged, known: readonly ServerContext[]) => void;

async function playMany(look: Look, which: fc.Parameters<[readonly Step[]]> = { numRuns }): Promise<void> {
  const property = fc.asyncProperty(steps, async (script) => play(script, look));
  await fc.assert(property, which);
}

async function play(script: readonly Step[], look: Look): Promise<void> {
  server.clear();
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
      // Where nothing is left to say at all, no shape is legal.
      if (exchange.planned(turn, options).shaped.length === 0) continue;
      const known = exchange.view.contexts.all.slice();
      const exchanged = await exchange.send(turn, options);
      look(exchanged, known);
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
    policy: { ...defaultChainPolicy, mode: full ? "stateless" : "chained" },
  };
}

/** The context digest of wire items, read back as any client would read them. */
function digestOf(items: readonly unknown[]): string {
  return items.filter(isJsonObject).reduce((context, item) => {
    const { recordedAs: digest } = responsesCodec.decodeItem(item, { scope });
    return extendContext(context, digest);
  }, emptyContext);
}

/** The rule "Contexts and anchors" for one response, told again without a walk. */
function isContinuable(context: ServerContext, request: Planned["request"]): boolean {
  const { turn, contexts, settings } = request;
  if (context.unusable !== null || context.length > turn.length) return false;
  if (turn.contextAt(context.length) !== context.turn) return false;
  const hasReasoning = turn.blocks.slice(0, context.length).some(({ kind }) => kind === "reasoning");
  if (hasReasoning && contexts.settings(context.settingsDigest)["model"] !== settings["model"]) return false;
  const options = {
    ...request,
    itemIds: request.capabilities.itemIds === true,
    quarantined: new Set<string>(),
    // Reasoning of another model is left out, and compactions that are not where they were made; what is left may be nothing.
    unwanted: (block: Block, index: number) =>
      unwantedReason(request, block) ?? (isMoved(request, block, index) ? "stale-compaction" : null),
    heldFrom: context.inputLength,
  };
  return shapedBlocks(turn, context.length, shape(turn, context.length, options), options).length > 0;
}

/** Whether a block is a compaction that was made of other blocks than those before it. */
function isMoved({ contexts, turn }: Planned["request"], { wire }: Block, index: number): boolean {
  if (wire?.compacts !== true || wire.group === undefined) return false;
  const made = contexts.ofInference(wire.group.id);
  if (made === null) return false;
  return turn.contextAt(made.length) !== made.turn || index !== made.inputLength + wire.group.index;
}
