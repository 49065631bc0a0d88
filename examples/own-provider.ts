/**
 * Your own provider, for a server that speaks the wire of Ollama's `/api/chat`: a transport, and a codec that translates blocks into
 * requests and answers into blocks. `turnlog/testing` has checks for it (`codecChecks`).
 *
 * Run it from a checkout after `npm run build`, without a key: `node examples/own-provider.ts` starts a small server of that wire on this machine.
 */
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { createEngine, openStore, tool } from "turnlog";
import {
  assistant,
  type Block,
  defineCodec,
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Provider,
  parseJson,
  postJson,
  toolCall,
} from "turnlog/provider";
import * as z from "zod";

const listOf = (value: JsonValue | undefined): readonly JsonObject[] =>
  isJsonList(value) ? value.filter(isJsonObject) : [];

/** One block as a message of this wire. */
function messageOf({ kind, role, name, text }: Block): JsonObject {
  if (kind === "tool_call")
    return { role: "assistant", content: "", tool_calls: [{ function: { name, arguments: parseJson(text) } }] };
  return { role: kind === "tool_result" ? "tool" : role, content: text };
}

/** Every recorded request names the codec. If it writes other bytes, give it another name. */
export const codec = defineCodec({
  name: "ollama-chat/1",
  // A result has no id on this wire. Results answer the calls before them, in order.
  resultsStandTogether: true,
  unsendableReason: ({ parts }) =>
    parts.every(({ type }) => type === "text") ? null : "this example sends texts and calls only",
  encodeRequest({ settings: { instructions, tools, ...settings }, input }) {
    const system = typeof instructions === "string" ? [{ role: "system", content: instructions }] : [];
    const messages = [...system, ...input.map(({ block }) => messageOf(block))];
    const functions = listOf(tools).map((each) => ({ type: "function", function: each }));
    return JSON.stringify({ ...settings, messages, tools: functions, stream: false });
  },
  readAnswer(response, { inferenceId }) {
    const { message, done_reason: reason, prompt_eval_count: read, eval_count: written } = response;
    if (!isJsonObject(message)) throw new Error("an answer of this wire has a message");
    const calls = listOf(message["tool_calls"]).map(({ function: called }, n) => {
      const { name, arguments: given } = isJsonObject(called) ? called : {};
      // Calls have no ids on this wire. The codec makes them, because a result finds its call by its id.
      return toolCall({
        callId: `${inferenceId}/${n}`,
        name: typeof name === "string" ? name : "unnamed",
        arguments: JSON.stringify(given),
      });
    });
    const { content } = message;
    return {
      id: null,
      status: typeof reason === "string" ? reason : null,
      isComplete: reason === "stop",
      blocks: [...(typeof content === "string" && content !== "" ? [assistant(content)] : []), ...calls],
      // Counts that the server does not give are left out.
      usage: {
        ...(typeof read === "number" ? { inputTokens: read } : {}),
        ...(typeof written === "number" ? { outputTokens: written } : {}),
        reported: { read: read ?? null, written: written ?? null },
      },
      rest: response,
    };
  },
  // The whole answer is kept beside its blocks, so nothing of it is lost.
  writeAnswer: ({ rest }) => rest,
});

export const ollama = (url: string, model: string): Provider => ({
  name: "ollama",
  scope: `ollama ${url} codec=${codec.family}`,
  codec,
  capabilities: {},
  transport: "json",
  settings: { model },
  infer: (request) => postJson(`${url}/api/chat`, request),
});

/** Replaces a model: it asks for the weather once, and then reports it. */
function answerTo(body: string): JsonObject {
  const request = parseJson(body);
  const last = listOf(isJsonObject(request) ? request["messages"] : []).at(-1) ?? {};
  const call = { function: { name: "weather", arguments: { city: "Paris" } } };
  const said =
    last["role"] === "tool"
      ? { content: `It is ${JSON.stringify(last["content"])} in Paris.` }
      : { tool_calls: [call] };
  const message = { role: "assistant", content: "", ...said };
  return { model: "any", message, done: true, done_reason: "stop", prompt_eval_count: 9, eval_count: 3 };
}

if (import.meta.main) {
  const server = createServer((request, response) => {
    void text(request).then((body) => response.end(JSON.stringify(answerTo(body))));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  const weather = tool({
    name: "weather",
    description: "The weather of a city.",
    inputSchema: z.object({ city: z.string() }),
    execute: () => "sunny",
  });
  {
    await using store = await openStore("memory:", { codecs: [codec] });
    const conversation = store.conversation();
    await conversation.append("How is the weather in Paris?");
    const engine = createEngine({ provider: ollama(`http://127.0.0.1:${port}`, "any"), tools: [weather] });
    const { text: said, usage } = await conversation.run(engine);
    console.log(said, `${usage.inputTokens} tokens read`);
    const { isSound, requests } = await conversation.verify();
    console.log(`${requests} requests verified: ${isSound ? "all sound" : "damaged"}`);
  }
  server.close();
}
