import type { JsonObject } from "../src/base/json.ts";
import type { Anchor } from "../src/domain/anchor.ts";
import { Block } from "../src/domain/block.ts";
import { assistant, toolCall, toolResult, user } from "../src/domain/make-block.ts";
import type { Codec } from "../src/engine/ports/codec.ts";
import { aiSdkCodec } from "../src/providers/ai-sdk/ai-sdk-codec.ts";
import { messagesCodec } from "../src/providers/anthropic/messages-codec.ts";
import { chatCodecs } from "../src/providers/chat/chat-codec.ts";
import { claudeCliCodec } from "../src/providers/claude-cli/claude-cli-codec.ts";
import { geminiCodec } from "../src/providers/google/gemini-codec.ts";
import { interactionsCodec } from "../src/providers/google/interactions-codec.ts";
import { ollamaCodec } from "../src/providers/ollama/ollama-codec.ts";
import { responsesCodec } from "../src/providers/responses/responses-codec.ts";
import type { BenchRow } from "./row.ts";

/** A codec, and what it is measured with: settings beside the model's name, and the anchor to continue from. */
type Measured = { readonly codec: Codec; readonly settings?: JsonObject; readonly anchor?: Anchor };

/** The codecs that are compared with that of the Responses API: one line each. */
const measured: Readonly<Record<string, Measured>> = {
  "chat, openai": { codec: chatCodecs.openai },
  "chat, deepseek": { codec: chatCodecs.deepseek },
  "chat, mistral": { codec: chatCodecs.mistral },
  "ai-sdk": { codec: aiSdkCodec },
  anthropic: { codec: messagesCodec },
  "anthropic, a new thread": { codec: messagesCodec, settings: { threads: true } },
  "anthropic, a thread continued": {
    ...{ codec: messagesCodec, settings: { threads: true }, anchor: { kind: "thread", id: "msg_bench" } },
  },
  "google, generateContent": { codec: geminiCodec },
  "google, Interactions": { codec: interactionsCodec },
  "google, an interaction continued": { codec: interactionsCodec, anchor: { kind: "interaction", id: "bench" } },
  ollama: { codec: ollamaCodec },
  "claude-cli": { codec: claudeCliCodec },
};

const blocksInTurn = 1_000;
const maxRatio = 2;

/**
 * The cost of a dialect: encoding a Turn of 1,000 blocks as a body, decoding an answer of as many blocks and writing the answer
 * again; and how much more a Turn of four times the length takes per block.
 */
export async function benchProviders(): Promise<readonly BenchRow[]> {
  const base = costOf({ codec: responsesCodec }, blocksInTurn);
  return Object.entries(measured).flatMap(([name, asked]) => {
    const cost = costOf(asked, blocksInTurn);
    const longer = costOf(asked, 4 * blocksInTurn);
    const note = (ms: number, than: number): string => `${ms.toFixed(2)} ms, ${than.toFixed(2)} ms there`;
    return [
      row(`encode ${blocksInTurn} blocks: ${name}`, cost.encode / base.encode, note(cost.encode, base.encode)),
      row(`decode an answer of as many: ${name}`, cost.decode / base.decode, note(cost.decode, base.decode)),
      {
        ...row(`encode, four times the blocks: ${name}`, longer.encode / cost.encode / 4, ""),
        ...{ unit: "of four times as long", note: `${longer.encode.toFixed(2)} ms` },
      },
      {
        ...row(`decode, four times the blocks: ${name}`, longer.decode / cost.decode / 4, ""),
        ...{ unit: "of four times as long", note: `${longer.decode.toFixed(2)} ms` },
      },
    ];
  });
}

const row = (name: string, value: number, note: string): BenchRow => ({
  ...{ name, value, unit: "of the Responses API's", bound: maxRatio, kind: "at most", note },
});

/** Milliseconds, the best of several rounds. */
function costOf(
  { codec, settings: others, anchor }: Measured,
  count: number,
): { readonly encode: number; readonly decode: number } {
  const said = turnOf(count);
  const input = said.map((block) => ({ block, withId: false }));
  const settings: JsonObject = { model: "bench", tools: [], ...others };
  const answer = answerSaying(codec, said);
  const asked = { inferenceId: "inf_bench", settings, capabilities: {} };
  return {
    encode: best(() => codec.encodeRequest({ settings, input, anchor: anchor ?? null, transport: "json" }).length),
    decode: best(() => {
      const read = codec.readAnswer(answer, asked);
      const blocks = read.blocks.map(
        ({ wire, ...said }) => new Block({ id: null, wire: { scope: "bench", ...wire }, ...said }),
      );
      return JSON.stringify(codec.writeAnswer({ ...read, blocks })).length;
    }),
  };
}

/** An answer with the model's blocks of a Turn, as the codec itself writes it. */
function answerSaying(codec: Codec, said: readonly Block[]): JsonObject {
  const blocks = said.filter(({ kind }) => kind === "tool_call");
  return codec.writeAnswer({
    id: "bench",
    status: statuses.get(codec) ?? "tool_calls",
    isComplete: true,
    blocks,
    rest: codec === claudeCliCodec ? { lines: linesSaying(blocks) } : {},
  });
}

/** The Claude CLI's output is kept as it was printed. Of every second call, the result takes the place of the next call. */
const linesSaying = (calls: readonly Block[]): readonly JsonObject[] => [
  ...calls
    .filter((_, n) => n % 2 === 0)
    .flatMap(({ callId, payload }) => [
      lineSaying("assistant", {
        type: "tool_use",
        id: callId,
        name: "look-up",
        input: { of: payload["arguments"] ?? "" },
      }),
      lineSaying("user", { type: "tool_result", tool_use_id: callId, content: "found" }),
    ]),
  { type: "result", subtype: "success", is_error: false, session_id: "bench" },
];

const lineSaying = (role: string, part: JsonObject): JsonObject => ({
  ...{ type: role, parent_tool_use_id: null, session_id: "bench" },
  message: { role, content: [part] },
});

/** Each codec's status of a complete answer. */
const statuses: ReadonlyMap<Codec, string> = new Map<Codec, string>([
  [responsesCodec, "completed"],
  [aiSdkCodec, "tool-calls"],
  [geminiCodec, "STOP"],
  [interactionsCodec, "requires_action"],
  [messagesCodec, "tool_use"],
  [ollamaCodec, "stop"],
]);

function turnOf(count: number): readonly Block[] {
  const text = "A sentence of a length that people write, twice over. ";
  return Array.from({ length: count / 4 }, (_, n) => [
    user(text),
    assistant(text),
    toolCall({ callId: `call_${n}`, name: "look-up", arguments: JSON.stringify({ of: text }) }),
    toolResult({ callId: `call_${n}`, output: text }),
  ]).flat();
}

function best(work: () => number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 40; round += 1) {
    const began = performance.now();
    if (work() === 0) throw new Error("nothing was written");
    least = Math.min(least, performance.now() - began);
  }
  return least;
}
