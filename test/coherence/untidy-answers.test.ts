import { afterAll, expect, test } from "vitest";
import * as z from "zod";
import { functionCall, message, type ScriptedAnswer } from "../../packages/reference-server/src/server.ts";
import { createEngine, openStore, tool } from "../../src/index.ts";
import { drawFrom } from "../../src/testing/rehearsal/draw.ts";
import { seeds } from "../support/cases.ts";
import { dialects } from "../support/dialects.ts";

const wires = [
  ...(["responses", "chat", "anthropic", "anthropic-threads", "google"] as const),
  ...(["google-interactions", "ollama", "ai-sdk", "claude-cli"] as const),
] as const;

/** As many answers were given, by wire. */
const answered = new Map<string, number>();

/** An answer that calls tools, some of them without arguments, or says something; what is told is counted by its nonce. */
function drawnAnswer(
  seed: number,
  n: number,
  { mayCall, isAgent }: { readonly mayCall: boolean; readonly isAgent: boolean },
) {
  const draw = drawFrom(seed, "answer", n);
  const calls = mayCall && draw.chance(0.6) ? 1 + draw.below(3) : 0;
  const given = Array.from({ length: calls }, () => (draw.chance(0.5) ? {} : { note: draw.nonce() }));
  const text = isAgent || calls === 0 || draw.chance(0.3) ? `It is ${draw.nonce()}.` : null;
  const answer: ScriptedAnswer = {
    output: [
      ...(text === null || isAgent ? [] : [message(text)]),
      ...given.map((each) =>
        functionCall("look-up", JSON.stringify(each), isAgent ? { callId: `toolu_${draw.nonce()}` } : {}),
      ),
      ...(text !== null && isAgent ? [message(text)] : []),
    ],
  };
  return { answer, given, text };
}

/** Runs a conversation on a server that is untidy, and holds it to what the server meant. */
async function playUntidy(name: (typeof wires)[number], seed: number): Promise<void> {
  const dialect = dialects[name];
  // An agent runs its tools by itself, and ends with what it says.
  const isAgent = dialect.hasOwnTools === true;
  const said: ReturnType<typeof drawnAnswer>[] = [];
  await using server = await dialect.start(
    () => {
      const drawn = drawnAnswer(seed, said.length, {
        mayCall: said.slice(-3).some(({ given }) => given.length === 0) || said.length < 3,
        isAgent,
      });
      said.push(drawn);
      return drawn.answer;
    },
    `untidy-${seed}`,
    `${name}-${seed}`,
  );
  const ran: unknown[] = [];
  const lookUp = tool({
    name: "look-up",
    description: "Looks up.",
    inputSchema: z.strictObject({ note: z.exactOptional(z.string()) }),
    execute: (input) => {
      ran.push(input);
      return "found";
    },
  });
  const draw = drawFrom(seed, "way");
  await using store = await openStore("memory:", { codecs: dialect.codecs });
  const conversation = store.conversation();
  for (const turn of [1, 2, 3]) {
    const transport = draw.pick(["json", "sse"] as const);
    const engine = createEngine({
      provider: dialect.provider(server.url, { model: "m", transport }),
      tools: isAgent ? [] : [lookUp],
    });
    await conversation.append(`Message ${turn}.`);
    const before = said.length;
    const result = await conversation.run(engine);
    expect(result.status).toBe("completed");
    // Every answer was asked for once, and the run went on from each.
    expect(result.steps).toHaveLength(said.length - before);
    expect(result.text).toContain(said.at(-1)?.text);
  }
  expect(server.requests.map(({ path, status }) => [path, status]).filter(([, status]) => status !== 200)).toEqual([]);
  expect(server.requests).toHaveLength(said.length);
  // Every call was executed once, with what the model gave it.
  const called = said.flatMap(({ given }) => given);
  const turn = await conversation.turn();
  if (isAgent) for (const block of turn.blocks) if (block.kind === "tool_call") ran.push(JSON.parse(block.arguments));
  const sorted = (list: readonly unknown[]) => list.map((each) => JSON.stringify(each)).toSorted();
  expect(sorted(ran)).toEqual(sorted(called));
  for (const { text } of said)
    if (text !== null) expect(turn.blocks.filter((block) => block.text.includes(text))).toHaveLength(1);
  expect(await store.verify()).toMatchObject({ isSound: true, requests: said.length });
  answered.set(name, (answered.get(name) ?? 0) + said.length);
}

test.each(wires)(
  "an untidy answer of a %s server is kept whole, counted once, and continued from",
  {
    timeout: 3_600_000,
  },
  async (name) => {
    for (const seed of seeds(1, 160, 2)) {
      try {
        await playUntidy(name, seed);
      } catch (cause) {
        throw new Error(`seed ${seed} of ${name}`, { cause });
      }
    }
  },
);

/** What each wire sends for an answer that ended for an unknown reason; a stream of the Responses API sends it in its last event. */
const unknownEnds: Readonly<Record<(typeof wires)[number], "incomplete" | "completed">> = {
  ...{ responses: "incomplete", chat: "incomplete", google: "incomplete", "google-interactions": "incomplete" },
  // Answers are whole there unless they say that they were cut.
  ...{ ollama: "incomplete", anthropic: "completed", "anthropic-threads": "completed", "ai-sdk": "completed" },
  "claude-cli": "incomplete",
};

test.each(wires)("an answer of %s that ended for an unknown reason is kept, and continued from", async (name) => {
  const dialect = dialects[name];
  for (const transport of ["json", "sse"] as const) {
    await using server = await dialect.start(() => ({ output: [message("It is so.")] }), "ends");
    server.inject({ kind: "unknown-end" });
    await using store = await openStore("memory:", { codecs: dialect.codecs });
    const conversation = store.conversation();
    const engine = createEngine({ provider: dialect.provider(server.url, { model: "m", transport }) });
    await conversation.append("Hello?");
    const isEvent = name === "responses" && transport === "sse";
    const status = isEvent ? "completed" : unknownEnds[name];
    expect(await conversation.run(engine)).toMatchObject({ status, text: "It is so." });
    await conversation.append("And now?");
    expect(await conversation.run(engine)).toMatchObject({ status: "completed", text: "It is so." });
    expect((await conversation.turn()).blocks.map(({ kind }) => kind)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
    ]);
    expect(server.requests).toHaveLength(2);
    expect(await store.verify()).toMatchObject({ isSound: true, requests: 2 });
  }
});

afterAll(() => {
  process.stdout.write(`untidy answers: ${[...answered].map(([name, count]) => `${count} of ${name}`).join(", ")}\n`);
});
