import { expect, test } from "vitest";
import { z } from "zod";
import { TurnlogStore } from "../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../src/engine/stack/create-engine.ts";
import { tool } from "../../src/engine/stack/tool.ts";
import { functionCall, message, reasoning } from "../../src/reference-server/answers.ts";
import {
  expectedReading,
  judge,
  type ReferenceServer,
  readItems,
  startReferenceServer,
} from "../../src/reference-server/server.ts";
import { type Entry, messageOf } from "../../src/rehearsal/entries.ts";
import { expectedOf } from "../../src/rehearsal/expected.ts";
import { handedBetween, type RehearsedProvider, rehearsedProviders } from "../../src/rehearsal/rehearsed-providers.ts";
import { createMemoryStore } from "../../src/stores/memory/store.ts";
import { replayed } from "../support/replayed.ts";

const pairs = handedBetween.flatMap((a) => handedBetween.flatMap((b) => (a === b ? [] : [[a, b] as const])));
/** Three exchanges with the first provider, three with the second, and back. */
const order = ["a", "a", "a", "b", "b", "b", "a"] as const;
// Spaces that a dialect whose arguments are objects does not keep.
const input = '{ "of":  "it" }';

test.each(pairs)(
  "from %s to %s and back: every request reads what was said, nothing is lost, and responses are continued from again",
  async (a, b) => {
    const [playedA, playedB] = [rehearsedProviders[a], rehearsedProviders[b]];
    const isThought = playedA.showsReasoning !== false && playedB.showsReasoning !== false;
    let asked = 0;
    const answer = () => {
      asked += 1;
      const said = asked % 2 === 1 ? functionCall("look", input) : message(`answer ${asked}`);
      return { output: isThought ? [reasoning({ summary: `thought ${asked}` }), said] : [said] };
    };
    await using serverA = await startReferenceServer({ ...playedA.server, seed: "handoff", answer });
    await using serverB = await startReferenceServer({ ...playedB.server, seed: "handoff", answer });
    const side = (played: RehearsedProvider, server: ReferenceServer) => {
      const provider = played.provider(server.baseUrl, "json");
      return { played, server, provider, engine: createEngine({ provider, tools: [look] }) };
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
      await conversation.append(`question ${n}`);
      expect((await conversation.run(engine)).status).toBe("completed");
      entries = [...entries, messageOf("user", `question ${n}`)];
      for (const step of [0, 1] as const) {
        answeredBy.push(who);
        // Reasoning is its server's, and is read by no other.
        const own = entries.filter(({ kind, place }) => kind !== "reasoning" || answeredBy[place?.answer ?? 0] === who);
        const request = server.requests.length - 2 + step;
        expect(differenceAt(server, request, played, own), `exchange ${n}, request ${step}`).toBeNull();
        entries = [...entries, ...recorded(answeredBy.length, { isThought, played })];
      }
    }

    const statuses = [serverA, serverB].flatMap(({ requests }) => requests.map(({ status }) => status));
    expect(statuses).toEqual(Array.from({ length: 14 }, () => 200));
    const kinds = (await conversation.turn()).blocks.map(({ kind }) => kind);
    const thought = isThought ? ["reasoning"] : [];
    expect(kinds).toEqual(
      order.flatMap(() => ["user", ...thought, "tool_call", "tool_result", ...thought, "assistant"]),
    );
    expect((await replayed(store, conversation)).difference).toBeNull();
    expect((await store.verify()).problems).toEqual([]);
    const strategies: string[] = [];
    for await (const { event } of conversation.events())
      if (event.type === "InferenceRequested") strategies.push(event.data.decision.strategy);
    expect(strategies).toHaveLength(14);
    // Back at a server that keeps responses, the first request goes on from what that holds.
    if (a === "responses") expect(strategies[12]).toBe("chained");
  },
);

const look = tool({
  name: "look",
  description: "Looks.",
  inputSchema: z.object({ of: z.string() }),
  execute: () => "seen",
});

/** What the log has of the n-th answer, counted from 1, and of the result that follows a call. */
function recorded(
  n: number,
  {
    isThought,
    played: { records = (each) => [each] },
  }: { readonly isThought: boolean; readonly played: RehearsedProvider },
): readonly Entry[] {
  const isCall = n % 2 === 1;
  const callId = `call_${n}`;
  const said: Entry = isCall
    ? { kind: "call", callId, name: "look", arguments: input }
    : messageOf("assistant", `answer ${n}`);
  const thought: Entry = { kind: "reasoning", text: `thought ${n}` };
  const all = isThought ? [thought, said] : [said];
  const result: Entry = { kind: "result", callId, output: "seen" };
  const placed = all
    .flatMap(records)
    .map((entry, index): Entry => ({ ...entry, place: { answer: n - 1, index, size: all.length } }));
  return isCall ? [...placed, result] : placed;
}

/** Where what the model read differs from what it was meant to read; that the tool is offered stands by itself. */
function differenceAt(
  server: ReferenceServer,
  request: number,
  { reads = (each) => each, readsAll = (all) => all }: RehearsedProvider,
  entries: readonly Entry[],
): string | null {
  const reading = server.reading(request);
  if (reading === undefined) return "there is no reading";
  expect(reading.tools).toHaveLength(1);
  const meant = readsAll(expectedOf(entries))
    .map(reads)
    .filter((each) => each !== null);
  const judgement = judge(expectedReading(meant), readItems(reading.items, { instructions: reading.instructions }));
  return judgement.coherent ? null : judgement.summary;
}
