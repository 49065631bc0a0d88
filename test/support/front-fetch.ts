import type { Front } from "../../packages/reference-server/src/front.ts";
import type { Refusal } from "../../packages/reference-server/src/refusals.ts";
import type { Reading, ScriptedAnswer } from "../../packages/reference-server/src/server.ts";
import { parseJson } from "../../packages/reference-server/src/wire.ts";

/** What a model says when it reads this, or what its server refuses with. */
export type Thinking = (reading: Reading) => ScriptedAnswer | { readonly refusal: Refusal };

/** A `fetch` that is answered by a front of the reference server without a server, and what it was asked. */
export function fetchFromFront(front: Front, think: Thinking) {
  const requests: string[] = [];
  const answered = ({ status, body }: Refusal): Response => Response.json(body, { status });
  const fetch: typeof globalThis.fetch = async (address, init) => {
    const text = typeof init?.body === "string" ? init.body : "";
    requests.push(text);
    const url = new URL(address instanceof Request ? address.url : address);
    const asked = {
      body: parseJson(text),
      url,
      headers: Object.fromEntries(new Headers(init?.headers)),
      fault: undefined,
      index: requests.length - 1,
    };
    const accepted = front.accept(asked);
    if ("refusal" in accepted) return answered(accepted.refusal);
    const said = think(accepted.reading());
    accepted.release?.();
    accepted.cache.begin();
    if ("refusal" in said) return answered(said.refusal);
    const { outgoing, commit } = accepted.render(said, undefined);
    commit?.();
    return new Response(outgoing.text, {
      ...{ status: outgoing.status, headers: { "content-type": outgoing.contentType, ...outgoing.headers } },
    });
  };
  return { fetch, requests };
}
