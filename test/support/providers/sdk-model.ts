import type { LanguageModelV3, LanguageModelV4, LanguageModelV4GenerateResult } from "@ai-sdk/provider";

/** What a model answers; an error is thrown, in a stream said as a part. */
export type SdkAnswer = {
  readonly content: LanguageModelV4GenerateResult["content"];
  readonly reason?: LanguageModelV4GenerateResult["finishReason"]["unified"];
  /** The stream ends before it says that it does, or says this error. */
  /** `off` without a word; else what its stream gives as an error, whatever that is. */
  readonly breaks?: unknown;
};

type SdkModel<Model> = { readonly model: Model; readonly asked: readonly Readonly<Record<string, unknown>>[] };

/** A model of the AI SDK that answers from a list, whole or in parts of three characters. */
export function sdkModel(answers: readonly (SdkAnswer | Error)[]): SdkModel<LanguageModelV4> {
  const asked: Record<string, unknown>[] = [];
  const next = (options: object): SdkAnswer => {
    const answer = answers[asked.push({ ...options }) - 1] ?? { content: [{ type: "text", text: "nothing more" }] };
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const ended = ({ content, reason }: SdkAnswer) => {
    const hasCalls = content.some(({ type }) => type === "tool-call");
    const unified = reason ?? (hasCalls ? "tool-calls" : "stop");
    return {
      finishReason: { unified, raw: `raw ${unified}` },
      usage: {
        inputTokens: { total: 12, noCache: 4, cacheRead: 8, cacheWrite: undefined },
        outputTokens: { total: 5, text: 3, reasoning: 2 },
      },
    };
  };
  const model: LanguageModelV4 = {
    specificationVersion: "v4",
    provider: "fake.chat",
    modelId: "fake-1",
    supportedUrls: { "image/*": [/^https:/] },
    async doGenerate(options) {
      const answer = next(options);
      return {
        ...{ content: [...answer.content], ...ended(answer), warnings: [] },
        request: { body: "the prompt again" },
        response: { id: `gen-${asked.length}`, timestamp: new Date(0), headers: { "set-cookie": "a" }, body: "again" },
      };
    },
    async doStream(options) {
      const answer = next(options);
      return { stream: ReadableStream.from(partsOf(answer, ended(answer), asked.length)) };
    },
  };
  return { model, asked };
}

type StreamPart =
  Awaited<ReturnType<LanguageModelV4["doStream"]>>["stream"] extends ReadableStream<infer Part> ? Part : never;

function* partsOf(
  { content, breaks }: SdkAnswer,
  end: Pick<LanguageModelV4GenerateResult, "usage" | "finishReason">,
  n: number,
): Iterable<StreamPart> {
  yield { type: "stream-start", warnings: [] };
  yield { type: "response-metadata", id: `gen-${n}`, timestamp: new Date(0) };
  for (const [index, part] of content.entries()) {
    const id = String(index);
    if (part.type === "text" || part.type === "reasoning") {
      yield { type: `${part.type}-start`, id };
      for (const delta of part.text.match(/.{1,3}/gs) ?? []) yield { type: `${part.type}-delta`, id, delta };
      if (breaks !== undefined && index === content.length - 1) break;
      yield {
        type: `${part.type}-end`,
        id,
        ...(part.providerMetadata === undefined ? {} : { providerMetadata: part.providerMetadata }),
      };
      continue;
    }
    if (part.type === "tool-call") {
      yield { type: "tool-input-start", id: part.toolCallId, toolName: part.toolName };
      yield { type: "tool-input-delta", id: part.toolCallId, delta: part.input };
      yield { type: "tool-input-end", id: part.toolCallId };
    }
    yield part;
  }
  if (breaks === "off") return;
  if (breaks !== undefined) yield { type: "error", error: breaks };
  else yield { type: "finish", ...end };
}

/** The same as a model of specification 3, whose content has no parts of its own for what is asked here. */
export function sdkModelV3(answers: readonly SdkAnswer[]): SdkModel<LanguageModelV3> {
  const { model, asked } = sdkModel(answers);
  // Of these answers and prompts both versions have the same shape, but for files, which this model only records.
  return { model: { ...model, specificationVersion: "v3" } as unknown as LanguageModelV3, asked };
}
