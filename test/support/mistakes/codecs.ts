import {
  assistant,
  type CodecDefinition,
  defineCodec,
  type Provider,
  postStream,
} from "../../../src/entries/provider.ts";
import { createEngine, openStore, RunFailedError } from "../../../src/index.ts";
import { type Mistake, odd } from "./mistake.ts";

const sound: CodecDefinition = {
  name: "mine/1",
  encodeRequest: ({ settings, input }) => JSON.stringify({ ...settings, said: input.map(({ block }) => block.text) }),
  readAnswer: (rest) => ({ id: null, status: "done", isComplete: true, blocks: [assistant("Hello.")], rest }),
  writeAnswer: ({ rest }) => rest,
};

const define = (definition: object) => defineCodec({ ...sound, ...definition });

const providerWith = (codec: unknown, infer: unknown = async () => ({ response: { said: "Hello." } })): Provider =>
  odd({
    ...{ name: "my-provider", scope: "my-provider here", codec, capabilities: {}, transport: "json" },
    ...{ settings: { model: "any" }, infer },
  });

/** What a run is told whose codec says these things otherwise. */
async function run(definition: object, infer?: unknown): Promise<void> {
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  await conversation.append("hello");
  const engine = createEngine({ provider: providerWith(define(definition), infer) });
  await conversation.run(engine).catch((error: unknown) => {
    throw error instanceof RunFailedError ? error.cause : error;
  });
}

/** What a run is told whose answers are read so. */
const reads = (answer: object | null) => () =>
  run({ readAnswer: (rest: object) => answer && { ...sound.readAnswer({}, odd({})), rest, ...answer } });

const cannotRead = "the codec mine/1 cannot read the response: readAnswer returned";

/** Codecs and transports, as their authors get them wrong. */
export const codecMistakes: readonly Mistake[] = [
  [
    "defineCodec({ mayPause: true })",
    () => define({ mayPause: true }),
    "defineCodec: mayPause is a boolean: give a function",
  ],
  [
    "defineCodec({ pairs: {} })",
    () => define({ pairs: {} }),
    "defineCodec: pairs.callOf is undefined: give a function",
  ],
  [
    "defineCodec({ prompt: {} })",
    () => define({ prompt: {} }),
    "defineCodec: prompt.isNeeded is undefined: give a function",
  ],
  [
    "defineCodec({ anchors: [] })",
    () => define({ anchors: ["thread"] }),
    "defineCodec: anchors is a list: give the properties of each kind, such as { thread: { isLinear: true } }",
  ],
  [
    "defineCodec({ anchors: { thread: true } })",
    () => define({ anchors: { thread: true } }),
    "defineCodec: anchors.thread takes an object of options, not a boolean",
  ],
  [
    "defineCodec({ anchors: { thread: { linear } } })",
    () => define({ anchors: { thread: { linear: true } } }),
    "defineCodec: anchors.thread has no option 'linear': did you mean 'isLinear'?",
  ],
  [
    "defineCodec({ anchors: { thread: { keptMs: 5 } } })",
    () => define({ anchors: { thread: { keptMs: 5 } } }),
    "defineCodec: anchors.thread.keptMs is 5: give a function",
  ],
  [
    "a codec without defineCodec",
    () => createEngine({ provider: providerWith({ name: "mine/1", encodeRequest: sound.encodeRequest }) }),
    "createEngine: provider.codec is not a codec, it lacks family, readAnswer, writeAnswer, instruct, offer, offeredTools, anchors, pairs, unsendableReason: make it with defineCodec",
  ],
  [
    "encodeRequest that gives an object",
    () => run({ encodeRequest: () => ({}) }),
    "the codec mine/1 cannot encode the request: encodeRequest returned an object: return the text of the body",
  ],
  [
    "encodeRequest that throws",
    () =>
      run({
        encodeRequest: () => {
          throw new Error("no audio here");
        },
      }),
    "the codec mine/1 cannot encode the request: no audio here; report what the codec cannot send in unsendableReason or unsendablePart",
  ],
  [
    "readAnswer that throws",
    () =>
      run({
        readAnswer: () => {
          throw new Error("no choices");
        },
      }),
    "the codec mine/1 cannot read the response: no choices",
  ],
  ["readAnswer that gives nothing", reads(null), `${cannotRead} null: give { id, status, isComplete, blocks, rest }`],
  [
    "readAnswer without blocks",
    reads({ blocks: undefined }),
    `${cannotRead} undefined as blocks: give a list of blocks`,
  ],
  [
    "readAnswer with a text as a block",
    reads({ blocks: ["Hello."] }),
    `${cannotRead} a text as blocks[0]: give blocks made by assistant, toolCall, reasoning and other`,
  ],
  [
    "readAnswer with a block of no kind",
    reads({ blocks: [{ kind: "thought", payload: {} }] }),
    `${cannotRead} 'thought' as the kind of blocks[0]: give 'system', 'user', 'assistant', 'reasoning', 'tool_call', 'tool_result' or 'other'`,
  ],
  [
    "readAnswer without rest",
    reads({ rest: undefined }),
    `${cannotRead} undefined as rest: give what the blocks do not hold, or {}`,
  ],
  [
    "readAnswer without isComplete",
    reads({ isComplete: undefined }),
    `${cannotRead} undefined as isComplete: give true or false`,
  ],
  ["readAnswer without id", reads({ id: undefined }), `${cannotRead} undefined as id: give a text, or null`],
  ["readAnswer with a number as status", reads({ status: 200 }), `${cannotRead} 200 as status: give a text, or null`],
  [
    "readAnswer with a text as anchor",
    reads({ anchor: "r1" }),
    `${cannotRead} a text as anchor: give { kind, id } in texts, or leave it out`,
  ],
  [
    "readAnswer with null as anchor",
    reads({ anchor: null }),
    `${cannotRead} null as anchor: give { kind, id } in texts, or leave it out`,
  ],
  [
    "readAnswer with a text as failure",
    reads({ failure: "overloaded" }),
    `${cannotRead} a text as failure: give { message, code } in texts (code may be null), or leave it out`,
  ],
  [
    "readAnswer that counts what the server did not tell",
    reads({ usage: { inputTokens: Number(undefined), reported: null } }),
    `${cannotRead} NaN as usage.inputTokens: give a number, or leave it out`,
  ],
  [
    "readAnswer that counts in texts",
    reads({ usage: { outputTokens: "3", reported: null } }),
    `${cannotRead} a text as usage.outputTokens: give a number, or leave it out`,
  ],
  [
    "readAnswer without the report of its usage",
    reads({ usage: { inputTokens: 3 } }),
    `${cannotRead} undefined as usage.reported: give what the server reported, or null`,
  ],
  [
    "readAnswer with another's name for tokens",
    reads({ usage: { promptTokens: 3, reported: null } }),
    `${cannotRead} promptTokens in usage: give inputTokens, cachedInputTokens, outputTokens, reasoningTokens, counts and reported`,
  ],
  [
    "readAnswer with a fraction among its counts",
    reads({ usage: { reported: null, counts: { input: 1.5 } } }),
    `${cannotRead} an object as usage.counts: give { input, cacheRead, cacheWritten, output, reasoning, … }, or leave it out`,
  ],
  [
    "countsIn that gives a number",
    () =>
      run({
        readAnswer: (rest: object) => ({ ...sound.readAnswer({}, odd({})), rest, usage: { reported: null } }),
        countsIn: () => 3,
      }),
    "the codec mine/1 cannot read the response: countsIn gave 3: give { input, cacheRead, cacheWritten, output, reasoning, … }, counts in whole numbers",
  ],
  [
    "infer that gives nothing",
    () => run({}, async () => undefined),
    "the provider gave no response: infer must return { response }, a JSON object",
  ],
  [
    "infer that gives the bare answer",
    () => run({}, async () => ({ said: "Hello." })),
    "the provider gave no response: infer must return { response }, a JSON object",
  ],
  [
    "postStream without a stream",
    () => postStream("http://127.0.0.1:1", { bodyText: "{}", signal: new AbortController().signal }, odd({})),
    "postStream: stream.take is undefined: give a function",
  ],
];
