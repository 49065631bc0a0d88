import type { JsonObject } from "../../../src/base/json.ts";
import type { InferenceRequest, Provider, StreamDelta } from "../../../src/engine/ports/provider.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";

export type Asked = { readonly response: JsonObject; readonly deltas: readonly StreamDelta[] };

/** Asks a provider, and gives the response with all that came before it. */
export async function ask(provider: Provider, request: Partial<InferenceRequest> = {}): Promise<Asked> {
  const deltas: StreamDelta[] = [];
  const { signal } = new AbortController();
  const plain = {
    bodyText: "{}",
    settings: {},
    transport: provider.transport,
    signal,
    onDelta: (delta: StreamDelta) => deltas.push(delta),
  };
  const { response } = await provider.infer({ ...plain, ...request });
  return { response, deltas };
}

/** The error that asking ends with. */
export async function failureOf(asked: Promise<unknown>): Promise<ProviderError> {
  const thrown = await asked.then(
    () => new Error("there was an answer"),
    (error: unknown) => error,
  );
  if (thrown instanceof ProviderError) return thrown;
  throw thrown;
}

/** The text of all deltas of a type, joined. */
export const textOf = (deltas: readonly StreamDelta[], type: StreamDelta["type"]): string =>
  deltas.map((delta) => (delta.type === type && "text" in delta ? delta.text : "")).join("");

/** The id of the response that came. */
export const idOf = ({ response: { id } }: Asked): string => (typeof id === "string" ? id : "");
