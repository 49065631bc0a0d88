import type {
  CacheFront,
  CacheVerdict,
  JsonObject,
  ReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import { isObject, objectsOf, parseJson, valueAt } from "../../../packages/reference-server/src/wire.ts";

/** A request in the words of no wire: texts of the user and the model in turn, and other members of its body. */
export interface CachedTalk {
  readonly model?: string;
  readonly system?: string;
  readonly tools?: readonly string[];
  readonly said: readonly string[];
  readonly more?: JsonObject;
}

/** Tokens as an answer reports them; undefined for what it does not report. */
export interface Told {
  readonly prompt: number;
  readonly read: number | undefined;
  readonly written: number | undefined;
}

export interface CachedFront {
  readonly name: CacheFront;
  readonly path: string | ((model: string) => string);
  body(talk: Required<CachedTalk>): JsonObject;
  /** The usage of an answer. */
  told(answer: JsonObject): Told;
  /** The paths of its units; undefined if a front takes none. */
  readonly paths: { readonly tool: string | undefined; readonly said: (n: number) => string };
  readonly hasModel: boolean;
}

const speaker = (n: number, model = "assistant"): string => (n % 2 === 0 ? "user" : model);
const texts = (said: readonly string[]): JsonObject[] => said.map((content, n) => ({ role: speaker(n), content }));
const number = (answer: JsonObject, path: string): number | undefined => {
  const value = valueAt(answer, path);
  return typeof value === "number" ? value : undefined;
};
const schema = { type: "object", properties: {} };
const toldAt = (prompt: string, read: string, written: string) => (answer: JsonObject) => ({
  ...{ prompt: number(answer, prompt) ?? -1, read: number(answer, read), written: number(answer, written) },
});
const toldByAnthropic = (answer: JsonObject) => {
  const { read, written, prompt } = toldAt(
    ...(["usage.input_tokens", "usage.cache_read_input_tokens", "usage.cache_creation_input_tokens"] as const),
  )(answer);
  return { read, written, prompt: prompt + (read ?? 0) + (written ?? 0) };
};

/** How each front is asked, and where its answers report what was cached. */
export const cachedFronts: readonly CachedFront[] = [
  {
    ...{ name: "responses", path: "/v1/responses", hasModel: true },
    body: ({ model, system, tools, said, more }) => ({
      ...{ model, instructions: system, input: texts(said), ...more },
      tools: tools.map((name) => ({ type: "function", name, parameters: schema })),
    }),
    told: toldAt(
      ...(["usage.input_tokens", "usage.input_tokens_details.cached_tokens"] as const),
      "usage.input_tokens_details.cache_write_tokens",
    ),
    paths: { tool: "tools.0", said: (n) => `input.${n}` },
  },
  {
    ...{ name: "chat", path: "/v1/chat/completions", hasModel: true },
    body: ({ model, system, tools, said, more }) => ({
      ...{ model, messages: [{ role: "system", content: system }, ...texts(said)], ...more },
      tools: tools.map((name) => ({ type: "function", function: { name, parameters: schema } })),
    }),
    told: toldAt(
      ...(["usage.prompt_tokens", "usage.prompt_tokens_details.cached_tokens"] as const),
      "usage.prompt_tokens_details.cache_write_tokens",
    ),
    paths: { tool: "tools.0", said: (n) => `messages.${n + 1}` },
  },
  {
    ...{ name: "messages", path: "/v1/messages", hasModel: true },
    body: ({ model, system, tools, said, more }) => ({
      ...{ model, system, max_tokens: 9, messages: texts(said), cache_control: { type: "ephemeral" }, ...more },
      tools: tools.map((name) => ({ name, input_schema: schema })),
    }),
    told: toldByAnthropic,
    paths: { tool: "tools.0", said: (n) => `messages.${n}.content.0` },
  },
  {
    ...{ name: "gemini", path: (model) => `/v1beta/models/${model}:generateContent`, hasModel: true },
    body: ({ system, tools, said, more }) => ({
      ...{ systemInstruction: { parts: [{ text: system }] }, ...more },
      tools: [{ functionDeclarations: tools.map((name) => ({ name, parameters: schema })) }],
      contents: said.map((text, n) => ({ role: speaker(n, "model"), parts: [{ text }] })),
    }),
    told: toldAt("usageMetadata.promptTokenCount", "usageMetadata.cachedContentTokenCount", "none"),
    paths: { tool: "tools.0", said: (n) => `contents.${n}` },
  },
  {
    ...{ name: "interactions", path: "/v1beta/interactions", hasModel: true },
    body: ({ model, system, tools, said, more }) => ({
      ...{ model, system_instruction: system, store: false, ...more },
      tools: tools.map((name) => ({ type: "function", name, parameters: schema })),
      input: said.map((text, n) => ({
        ...{ type: n % 2 === 0 ? "user_input" : "model_output", content: [{ type: "text", text }] },
      })),
    }),
    told: toldAt("usage.total_input_tokens", "usage.total_cached_tokens", "none"),
    paths: { tool: "tools.0", said: (n) => `input.${n}` },
  },
  {
    ...{ name: "ollama", path: "/api/chat", hasModel: true },
    body: ({ model, system, tools, said, more }) => ({
      ...{ model, stream: false, messages: [{ role: "system", content: system }, ...texts(said)], ...more },
      tools: tools.map((name) => ({ type: "function", function: { name, parameters: schema } })),
    }),
    told: toldAt("prompt_eval_count", "prompt_eval_cached_count", "none"),
    paths: { tool: "tools.0", said: (n) => `messages.${n + 1}` },
  },
  {
    ...{ name: "ai-sdk", path: "/language-model", hasModel: false },
    body: ({ system, tools, said, more }) => ({
      tools: tools.map((name) => ({ type: "function", name, inputSchema: schema })),
      prompt: [
        { role: "system", content: system },
        ...said.map((text, n) => ({ role: speaker(n), content: [{ type: "text", text }] })),
      ],
      ...more,
    }),
    told: toldAt("usage.inputTokens.total", "usage.inputTokens.cacheRead", "usage.inputTokens.cacheWrite"),
    paths: { tool: "tools.0", said: (n) => `prompt.${n + 1}` },
  },
  {
    ...{ name: "claude-cli", path: "/claude-cli", hasModel: true },
    body: ({ model, system, said }) => ({
      arguments: [
        ...["-p", "--output-format", "stream-json", "--input-format", "stream-json", "--verbose"],
        ...["--model", model, "--append-system-prompt", system],
      ],
      stdin: said.map((content) => JSON.stringify({ type: "user", message: { role: "user", content } })).join("\n"),
    }),
    told: toldByAnthropic,
    paths: { tool: undefined, said: (n) => `messages.${n}` },
  },
];

/** Asks a front, and returns what its answer reports, and the server's own verdict. */
export async function askCached(
  server: ReferenceServer,
  front: CachedFront,
  talk: CachedTalk,
): Promise<{ readonly told: Told; readonly verdict: CacheVerdict }> {
  const whole = { model: "a-model", system: "Be brief, and answer in one line.", tools: [], more: {}, ...talk };
  const tools = talk.tools ?? (front.paths.tool === undefined ? [] : ["look-up", "look-down"]);
  return sendCached(server, front, { model: whole.model, body: JSON.stringify(front.body({ ...whole, tools })) });
}

/** Sends a body to a front, and returns the same. */
export async function sendCached(
  server: ReferenceServer,
  front: CachedFront,
  { model, body }: { readonly model: string; readonly body: string },
): Promise<{ readonly told: Told; readonly verdict: CacheVerdict; readonly answer: JsonObject }> {
  const path = typeof front.path === "string" ? front.path : front.path(model);
  const index = server.requests.length;
  const response = await fetch(`${server.url}${path}`, {
    ...{ method: "POST", headers: { "content-type": "application/json" }, body },
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${front.name} rejected the request: ${text}`);
  const lines = text.trim().split("\n").map(parseJson).filter(isObject);
  const verdict = server.requests[index]?.cache;
  if (verdict === undefined) throw new Error(`${front.name} gave no verdict`);
  const answer = objectsOf(lines).at(-1) ?? {};
  return { verdict, told: front.told(answer), answer };
}
