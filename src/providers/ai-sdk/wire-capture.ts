import { AsyncLocalStorage } from "node:async_hooks";
import type { JsonObject } from "../../base/json.ts";
import { headerCredentials, queryCredentials } from "../secrets/credentials.ts";
import type { Masked } from "../secrets/secret-spans.ts";

/** Captures the wire traffic of one call, of a model that uses the given `fetch`. */
export type WireCapture = {
  /** For the model: calls the global `fetch` of that moment. */
  readonly fetch: typeof globalThis.fetch;
  /** Does a call and returns its result with what was sent and received. */
  during<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly wire: readonly JsonObject[] }>;
};

type Exchange = {
  readonly url: string;
  readonly request: string | null;
  readonly status: number;
  readonly text: Promise<string>;
};

/** @param onSent - Gets the credentials of a request before it is sent. */
export function createWireCapture(onSent: (credentials: Masked) => void): WireCapture {
  const calls = new AsyncLocalStorage<Exchange[]>();
  return {
    async fetch(address, init) {
      const url = new URL(address instanceof Request ? address.url : address);
      const headers = new Headers(init?.headers ?? (address instanceof Request ? address.headers : {}));
      onSent([...headerCredentials(Object.fromEntries(headers)), ...queryCredentials(url.href)]);
      const answer = await globalThis.fetch(address, init);
      const { origin, pathname } = url;
      const copy = answer.clone();
      // An answer that is cut off has the text so far.
      const text = textSoFar(copy);
      const request = typeof init?.body === "string" ? init.body : null;
      calls.getStore()?.push({ url: `${origin}${pathname}`, request, status: answer.status, text });
      return answer;
    },

    async during(work) {
      const exchanges: Exchange[] = [];
      const result = await calls.run(exchanges, work);
      const wire = exchanges.map(async ({ url, request, status, text }) => ({
        url,
        request,
        status,
        response: await text,
      }));
      return { result, wire: await Promise.all(wire) };
    },
  };
}

async function textSoFar({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  const chunks: AsyncIterable<Uint8Array> | null = body;
  let text = "";
  try {
    for await (const chunk of chunks ?? []) text += decoder.decode(chunk, { stream: true });
  } catch {
    // The model reads the same bytes and reports the error.
  }
  return text + decoder.decode();
}
