import { expect, test } from "vitest";
import { z } from "zod";
import {
  expectedReading,
  judge,
  type ReferenceServer,
  readItems,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { type Entry, messageOf } from "../../../src/testing/rehearsal/entries.ts";
import { type Expected, expectedOf } from "../../../src/testing/rehearsal/expected.ts";
import type { RehearsalProvider } from "../../../src/testing/rehearsal/ports.ts";
import { itemOf } from "../../../src/testing/rehearsal/reference-parts.ts";
import {
  handedBetween,
  type RehearsedProvider,
  rehearsedProviders,
} from "../../../src/testing/rehearsal/rehearsed-providers.ts";
import { isLong, isRound, partOf } from "../../support/cases.ts";
import { replayed } from "../../support/replayed.ts";

/** Those of which each has a package of its own, so that a model that runs its tools by itself is among them. */
const seven = ["responses", "chat", "anthropic", "google", "ollama", "claude-cli", "ai-sdk"] as const;
const withOwnTools = (name: RehearsalProvider): boolean => rehearsedProviders[name].hasOwnTools === true;
const all = [...handedBetween, ...seven.filter(withOwnTools)];
const areOfSeven = (...pair: readonly RehearsalProvider[]): boolean =>
  pair.every((name) => seven.some((each) => each === name));
const pairs = all.flatMap((a) =>
  all.flatMap((b) => {
    // In short runs, a dialect other than the seven is handed to and from one server that keeps what it said.
    const isMore = isLong ? ![a, b].some(withOwnTools) : [a, b].includes("responses") && ![a, b].some(withOwnTools);
    const [from, to] = [all.indexOf(a), all.indexOf(b)];
    // `npm test` plays every third pair in one direction, which comes back, and a round of CI a sixth of them in both.
    const isInRound = (from + to * all.length) % 6 === partOf(6);
    const isBrief = from < to === ((from + to) % 2 === 0) && (from + 2 * to) % 3 === 0;
    const isTurn = isLong || (isRound ? isInRound : isBrief);
    const isPlayed = a !== b && isTurn && (areOfSeven(a, b) || isMore);
    return isPlayed ? [[a, b] as const] : [];
  }),
);
/** Three exchanges with the first provider, three with the second, and back. */
const order = ["a", "a", "a", "b", "b", "b", "a"] as const;
// Spaces that a dialect whose arguments are objects does not keep.
const input = '{ "of":  "it" }';

test.each(pairs)(
  "from %s to %s and back: every request reads what was said, nothing is lost, and what a server keeps is continued from again",
  async (a, b) => {
    const [playedA, playedB] = [rehearsedProviders[a], rehearsedProviders[b]];
    const isThought = playedA.showsReasoning !== false && playedB.showsReasoning !== false;
    const script = order.flatMap((who) => stepsOf(who === "a" ? playedA : playedB)).map(answerOf(isThought));
    let asked = 0;
    const answer = () => {
      asked += 1;
      return { output: (script[asked - 1] ?? []).map(itemOf) };
    };
    await using serverA = await startReferenceServer({ ...playedA.server, seed: "handoff", answer });
    await using serverB = await startReferenceServer({ ...playedB.server, seed: "handoff", answer });
    const side = (played: RehearsedProvider, server: ReferenceServer) => {
      const provider = played.provider(server.baseUrl, "json");
      const tools = played.hasOwnTools === true ? [] : [look];
      return { played, server, provider, engine: createEngine({ provider, tools }) };
    };
    const sides = { a: side(playedA, serverA), b: side(playedB, serverB) };
    await using store = new TurnlogStore(createMemoryStore(), {
      codecs: [sides.a.provider.codec, sides.b.provider.codec],
    });
    const conversation = store.conversation();

    let entries: readonly Entry[] = [];
    const answeredBy: ("a" | "b")[] = [];
    for (const [n, who] of order.entries()) {
      const { engine, played, server } = sides[who];
      const before = server.requests.length;
      await conversation.append(`question ${n}`);
      expect((await conversation.run(engine)).status).toBe("completed");
      entries = [...entries, messageOf("user", `question ${n}`)];
      const steps = stepsOf(played).length;
      expect(server.requests.length - before).toBe(steps);
      for (let step = 0; step < steps; step += 1) {
        answeredBy.push(who);
        // Reasoning is its server's, and is read by no other.
        const takes = ({ kind, place }: Entry) => kind !== "reasoning" || answeredBy[place?.answer ?? 0] === who;
        const difference = differenceAt(server, before + step, { played, meant: expectedOf(entries, { takes }) });
        expect(difference, `exchange ${n}, request ${step}`).toBeNull();
        const number = answeredBy.length - 1;
        entries = [...entries, ...recorded(script[number] ?? [], { answer: number, played })];
      }
    }

    const statuses = [serverA, serverB].flatMap(({ requests }) => requests.map(({ status }) => status));
    expect(statuses).toEqual(answeredBy.map(() => 200));
    const kinds = (await conversation.turn()).blocks.map(({ kind }) => kind);
    const thought = isThought ? ["reasoning"] : [];
    const again = (who: "a" | "b") => (sides[who].played.hasOwnTools === true ? [] : thought);
    expect(kinds).toEqual(
      order.flatMap((who) => ["user", ...thought, "tool_call", "tool_result", ...again(who), "assistant"]),
    );
    expect((await replayed(store, conversation)).difference).toBeNull();
    expect((await store.verify()).problems).toEqual([]);
    const strategies: string[] = [];
    for await (const { event } of conversation.events())
      if (event.type === "InferenceRequested") strategies.push(event.data.decision.strategy);
    expect(strategies).toHaveLength(answeredBy.length);
    // Back at a server that keeps what anything may follow, the first request goes on from what that holds.
    const back = answeredBy.lastIndexOf("b") + 1;
    if (continuesBehindAll.has(a)) expect(strategies[back]).toBe("chained");
  },
);

/** A thread goes on behind no call that it did not make, and a session behind the user alone. */
const continuesBehindAll: ReadonlySet<RehearsalProvider> = new Set(["responses", "google-interactions"]);

const look = tool({
  name: "look",
  description: "Looks.",
  inputSchema: z.object({ of: z.string() }),
  execute: () => "seen",
});

/** What one answer holds; a model that runs its tools by itself says all at once. */
type Step = "call" | "text" | "all";

const stepsOf = ({ hasOwnTools }: RehearsedProvider): readonly Step[] =>
  hasOwnTools === true ? ["all"] : ["call", "text"];

/** The n-th answer, counted from 0. */
const answerOf =
  (isThought: boolean) =>
  (step: Step, n: number): readonly Entry[] => {
    const callId = `call_${n}`;
    const call = { kind: "call", callId, name: "look", arguments: input } as const;
    const text = messageOf("assistant", `answer ${n}`);
    const said = { call: [call], text: [text], all: [call, { kind: "result", callId, output: "seen" } as const, text] };
    return [...(isThought ? [{ kind: "reasoning", text: `thought ${n}` } as const] : []), ...said[step]];
  };

/** What the log has of an answer, and of the result where the engine ran the tool. */
function recorded(
  said: readonly Entry[],
  { answer, played }: { readonly answer: number; readonly played: RehearsedProvider },
): readonly Entry[] {
  const { records = (each: Entry): readonly Entry[] => [each] } = played;
  const placed = said
    .flatMap(records)
    .map((entry, index, all): Entry => ({ ...entry, place: { answer, index, size: all.length } }));
  const last = said.at(-1);
  return last?.kind === "call" ? [...placed, { kind: "result", callId: last.callId, output: "seen" }] : placed;
}

/** Where what the model read differs from what it was meant to read; that the tool is offered stands by itself. */
function differenceAt(
  server: ReferenceServer,
  request: number,
  { played, meant }: { readonly played: RehearsedProvider; readonly meant: readonly Expected[] },
): string | null {
  const { reads = (each: Expected) => each, readsAll = (all: readonly Expected[]) => all } = played;
  const { judging = {}, hasOwnTools } = played;
  const reading = server.reading(request);
  if (reading === undefined) return "there is no reading";
  expect(reading.tools).toHaveLength(hasOwnTools === true ? 0 : 1);
  const read = readsAll(meant)
    .map(reads)
    .filter((each) => each !== null);
  const lines = readItems(reading.items, { instructions: reading.instructions });
  const judgement = judge(expectedReading(read), lines, judging);
  return judgement.coherent ? null : judgement.summary;
}
