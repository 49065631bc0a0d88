import { afterAll, expect, test } from "vitest";
import * as z from "zod";
import { createEngine, openStore, tool } from "../../src/index.ts";
import { functionCall, message, type ScriptedAnswer } from "../../src/reference-server/server.ts";
import { drawFrom } from "../../src/rehearsal/draw.ts";
import { seeds } from "../support/cases.ts";
import { dialects } from "../support/dialects.ts";

const wires = [
  ...(["chat", "anthropic", "anthropic-threads", "google"] as const),
  ...(["google-interactions", "ollama", "ai-sdk"] as const),
] as const;

/** As many answers were given, by wire. */
const answered = new Map<string, number>();

/** An answer that calls tools, some of them without arguments, or says something; what is told is counted by its nonce. */
function drawnAnswer(seed: number, n: number, { mayCall }: { readonly mayCall: boolean }) {
  const draw = drawFrom(seed, "answer", n);
  const calls = mayCall && draw.chance(0.6) ? 1 + draw.below(3) : 0;
  const given = Array.from({ length: calls }, () => (draw.chance(0.5) ? {} : { note: draw.nonce() }));
  const text = calls === 0 || draw.chance(0.3) ? `It is ${draw.nonce()}.` : null;
  const answer: ScriptedAnswer = {
    output: [
      ...(text === null ? [] : [message(text)]),
      ...given.map((each) => functionCall("look-up", JSON.stringify(each))),
    ],
  };
  return { answer, given, text };
}

/** Runs a conversation on a server that is untidy, and holds it to what the server meant. */
async function playUntidy(name: (typeof wires)[number], seed: number): Promise<void> {
  const dialect = dialects[name];
  const said: ReturnType<typeof drawnAnswer>[] = [];
  await using server = await dialect.start(
    () => {
      const drawn = drawnAnswer(seed, said.length, {
        mayCall: said.slice(-3).some(({ given }) => given.length === 0) || said.length < 3,
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
    const engine = createEngine({ provider: dialect.provider(server.url, { model: "m", transport }), tools: [lookUp] });
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
  const sorted = (list: readonly unknown[]) => list.map((each) => JSON.stringify(each)).toSorted();
  expect(sorted(ran)).toEqual(sorted(said.flatMap(({ given }) => given)));
  const turn = await conversation.turn();
  for (const { text } of said)
    if (text !== null) expect(turn.blocks.filter((block) => block.text.includes(text))).toHaveLength(1);
  expect(await store.verify()).toMatchObject({ isSound: true, requests: said.length });
  answered.set(name, (answered.get(name) ?? 0) + said.length);
}

test.each(wires)(
  "a server of %s that answers as servers do loses nothing, is paid once, and is gone on from",
  {
    timeout: 3_600_000,
  },
  async (name) => {
    for (const seed of seeds(2, 160)) {
      try {
        await playUntidy(name, seed);
      } catch (cause) {
        throw new Error(`seed ${seed} of ${name}`, { cause });
      }
    }
  },
);

afterAll(() => {
  process.stdout.write(`untidy answers: ${[...answered].map(([name, count]) => `${count} of ${name}`).join(", ")}\n`);
});
