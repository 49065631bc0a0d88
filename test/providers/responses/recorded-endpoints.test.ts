import { describe, expect, test } from "vitest";
import { isJsonObject, type JsonObject, jsonOf } from "../../../src/base/json.ts";
import { openaiResponses } from "../../../src/entries/responses.ts";
import type { OpenaiResponses } from "../../../src/providers/responses/responses-options.ts";
import {
  type Exchange,
  hasRecordings,
  needsRecordings,
  recordedExchanges,
} from "../../support/providers/recorded-cases.ts";
import { isCreate } from "../../support/providers/recorded-client.ts";
import { areEqual } from "../../support/providers/recorded-normalisations.ts";

/** What left: its line, and its body where it has one. */
type Sent = { readonly line: string; readonly body: JsonObject | null };

/** One endpoint beside `POST /responses`, as a program calls it, and what it makes of the recorded answer. */
type Endpoint = {
  readonly name: string;
  readonly line: RegExp;
  readonly count: number;
  readonly call: (provider: OpenaiResponses, exchange: Exchange) => Promise<unknown>;
  readonly answer: (exchange: Exchange) => unknown;
};

/** What stands in the path behind a segment: `resp_1` of `/v1/responses/resp_1`. */
const idIn = ({ path }: Exchange): string => /\/(resp_\w+|conv_\w+)/.exec(path)?.[1] ?? "";

/** The model is the provider's. */
const given = ({ request }: Exchange): JsonObject => {
  const { model: _, ...rest } = request;
  return rest;
};

const endpoints: readonly Endpoint[] = [
  {
    name: "compactions",
    line: /^POST \/v1\/responses\/compact$/,
    count: 5,
    call: (provider, exchange) => provider.compact(given(exchange)),
    answer: ({ response }) => response,
  },
  {
    name: "counts of input tokens",
    line: /^POST \/v1\/responses\/input_tokens$/,
    count: 2,
    call: (provider, exchange) => provider.countInputTokens(given(exchange)),
    answer: ({ response }) => response["input_tokens"],
  },
  {
    name: "retrieves of a response",
    line: /^GET \/v1\/responses\/resp_\w+/,
    count: 2,
    call: (provider, exchange) => provider.retrieve(idIn(exchange)),
    answer: ({ response }) => response,
  },
  {
    name: "conversation objects that are made",
    line: /^POST \/v1\/conversations$/,
    count: 3,
    call: async (provider) => provider.conversations?.create({ signal: new AbortController().signal }),
    answer: ({ response }) => response["id"],
  },
  {
    name: "conversation objects that are deleted",
    line: /^DELETE \/v1\/conversations\/conv_\w+$/,
    count: 3,
    call: (provider, exchange) => provider.deleteConversation(idIn(exchange)),
    answer: () => undefined,
  },
];

const lineOf = ({ method, path }: Pick<Exchange, "method" | "path">): string => `${method} ${path}`;

/** Sends what turnlog sends in the place of a recorded request, which is answered as it was. */
async function resend(
  exchange: Exchange,
  { call }: Endpoint,
): Promise<{ readonly sent: readonly Sent[]; readonly told: unknown }> {
  const sent: Sent[] = [];
  const { model } = exchange.request;
  const provider = openaiResponses({
    ...{ model: typeof model === "string" ? model : "m", apiKey: "none", baseURL: "https://recorded.test/v1" },
    fetch: async (address, init) => {
      const { pathname, search } = new URL(address instanceof Request ? address.url : address);
      const body = typeof init?.body === "string" ? jsonOf(init.body) : null;
      const line = lineOf({ method: (init?.method ?? "get").toUpperCase(), path: `${pathname}${search}` });
      sent.push({ line, body: isJsonObject(body) ? body : null });
      // Before an object is deleted, its items are: none was left in those that were recorded.
      if (pathname.endsWith("/items")) return Response.json({ object: "list", data: [], has_more: false });
      return new Response(exchange.answer, {
        status: exchange.status,
        headers: { "content-type": exchange.contentType },
      });
    },
  });
  return { told: await call(provider, exchange), sent };
}

test.skipIf(!hasRecordings)(`recorded calls of other endpoints are there to be made again${needsRecordings}`, () => {
  const all = recordedExchanges().filter((each) => !isCreate(each));
  const counts = endpoints.map(({ line }) => all.filter((each) => line.test(lineOf(each))).length);
  expect(counts).toEqual(endpoints.map(({ count }) => count));
});

const describeRecorded = hasRecordings ? describe : () => undefined;

describeRecorded("recorded calls of other endpoints", () => {
  const all = hasRecordings ? recordedExchanges() : [];
  const cases = endpoints.flatMap((endpoint) =>
    all
      .filter((each) => endpoint.line.test(lineOf(each)))
      .map((each) => [endpoint.name, each.case, endpoint, each] as const),
  );

  test.each(cases)("%s of %s: the same is sent, and the answer is understood", async (_, __, endpoint, exchange) => {
    const { sent, told } = await resend(exchange, endpoint);
    expect(told).toEqual(endpoint.answer(exchange));
    const last = sent.at(-1);
    // That nothing is streamed is the default.
    expect(last?.line).toBe(lineOf(exchange).replace(/\?stream=false$/, ""));
    expect(sent.slice(0, -1).map(({ line }) => line)).toEqual(
      exchange.method === "DELETE" ? [`GET ${exchange.path}/items?limit=100`] : [],
    );
    const isEmpty = Object.keys(exchange.request).length === 0;
    if (isEmpty) expect(last?.body ?? {}).toEqual({});
    else expect(last?.body !== null && last !== undefined && areEqual(last.body, exchange.request)).toBe(true);
  });
});
