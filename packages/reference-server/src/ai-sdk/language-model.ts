import { languageModelPath } from "./front.ts";

/** An error of a call, in the form of the AI SDK's `APICallError`. */
class ModelCallError extends Error {
  override readonly name = "AI_APICallError";
  readonly statusCode: number;
  readonly responseBody: string;
  readonly responseHeaders: Readonly<Record<string, string>>;

  constructor(answer: Response, responseBody: string) {
    super(`the model answered with status ${answer.status}`);
    this.statusCode = answer.status;
    this.responseBody = responseBody;
    this.responseHeaders = Object.fromEntries(answer.headers);
  }
}

/** Options of a call; these go over the wire as JSON. */
type CallOptions = { readonly prompt: unknown; readonly abortSignal?: AbortSignal | undefined };

/** A model of the AI SDK (`LanguageModelV4`) on a reference server, or on any server that answers this `fetch`. */
export function languageModel(
  baseUrl: string,
  // Looked up at each request, so that a replaced global `fetch` is used.
  fetch: typeof globalThis.fetch = (address, init) => globalThis.fetch(address, init),
) {
  async function call({ abortSignal, ...options }: CallOptions, stream: boolean): Promise<Response> {
    const answer = await fetch(`${baseUrl}${languageModelPath}`, {
      ...{ method: "POST", headers: { "content-type": "application/json" } },
      body: JSON.stringify({ ...options, stream }),
      signal: abortSignal ?? null,
    });
    if (!answer.ok) throw new ModelCallError(answer, await answer.text());
    return answer;
  }
  return {
    ...{ specificationVersion: "v4", provider: "reference", modelId: "reference" },
    supportedUrls: { "*/*": [/^https?:/] },
    async doGenerate(options: CallOptions): Promise<object> {
      const result: unknown = await (await call(options, false)).json();
      return typeof result === "object" && result !== null ? result : {};
    },
    async doStream(options: CallOptions): Promise<{ readonly stream: ReadableStream<object> }> {
      const { body } = await call(options, true);
      return { stream: ReadableStream.from(linesOf(body)) };
    },
  };
}

async function* linesOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<object> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      const part: unknown = JSON.parse(line);
      if (typeof part === "object" && part !== null) yield part;
    }
  }
}
