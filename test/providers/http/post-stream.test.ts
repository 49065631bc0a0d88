import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import {
  chatStream,
  isJsonObject,
  type JsonObject,
  ProviderError,
  postJson,
  postStream,
  type StreamDelta,
  type StreamedAnswer,
} from "../../../src/entries/provider.ts";
import { serve } from "../../support/providers/loopback.ts";

const { signal } = new AbortController();
const asked = { bodyText: '{"n":1.10}', signal };

/** A wire whose parts say `say`, and whose last one says `end`. */
function sayings(): StreamedAnswer {
  const said: JsonObject[] = [];
  return {
    take(_, { say, end, error }) {
      if (isJsonObject(error))
        throw new ProviderError(JSON.stringify(error["text"]), {
          kind: "rate-limited",
          outcome: "rejected",
          body: error,
        });
      if (say !== undefined) said.push({ say });
      return end === undefined ? null : { said, end };
    },
    get partial() {
      return said;
    },
  };
}

const whole = { response: { said: [{ say: "a\u2028" }, { say: "b" }], end: "done" } };
const saying = (body: string) => serve((response) => response.end(body));

test.each([
  ["lines", '{"say":"a\u2028"}\n\n{"say":"b"}\r\n{"end":"done"}\n'],
  ["lines, the last without an end", '{"say":"a\u2028"}\n{"say":"b"}\n{"end":"done"}'],
  ["events", 'event: x\ndata: {"say":"a\u2028"}\n\ndata: {"say":"b"}\n\ndata: {"end":"done"}\n\n'],
])("puts together an answer that comes in %s", async (_, body) => {
  await using server = await saying(body);
  expect(await postStream(server.baseURL, asked, { stream: sayings() })).toMatchObject(whole);
  expect(server.received[0]?.body).toBe(asked.bodyText);
});

const cut = (body: string) => (response: ServerResponse) => void response.write(body, () => response.destroy());
const partial = [{ say: "a" }];

test.each([
  [
    "ends before its last part",
    (response: ServerResponse) => response.end('{"say":"a"}\n'),
    { kind: "stream-cut", partial },
  ],
  ["breaks off", cut('{"say":"a"}\n{"sa'), { kind: "stream-cut", outcome: "unknown", partial }],
  ["breaks off between events", cut('data: {"say":"a"}\n\n'), { kind: "stream-cut", outcome: "unknown", partial }],
  [
    "says what is no JSON",
    (response: ServerResponse) => response.end('{"say":"a"}\nuh\n'),
    { kind: "stream-cut", partial },
  ],
  [
    "tells an error at once",
    (response: ServerResponse) => response.end('{"error":{"text":"busy"}}'),
    { kind: "rate-limited", outcome: "rejected", partial: [] },
  ],
  [
    "tells an error at once, printed for people",
    (response: ServerResponse) => response.end('{\n  "error": {\n    "text": "busy"\n  }\n}\n'),
    { kind: "rate-limited", outcome: "rejected", message: '"busy"' },
  ],
  [
    "tells an error later: the server has acted",
    (response: ServerResponse) => response.end('{"say":"a"}\n{"error":{"text":"busy"}}\n'),
    { kind: "rate-limited", outcome: "unknown", partial },
  ],
  [
    "is a page",
    (response: ServerResponse) => response.end("<html>\nno\n"),
    { outcome: "unknown", body: "<html>\nno\n" },
  ],
  ["is nothing", (response: ServerResponse) => response.end(), { kind: "stream-cut", partial: [] }],
  [
    "is refused",
    (response: ServerResponse) => response.writeHead(503, { "retry-after": "2" }).end("{}"),
    { kind: "server-error", outcome: "rejected", retryAfterMs: 2_000 },
  ],
] as const)("tells an answer that %s", async (_, answer, expected) => {
  await using server = await serve((response) => void answer(response));
  await expect(postStream(server.baseURL, asked, { stream: sayings() })).rejects.toMatchObject({
    name: "ProviderError",
    ...expected,
  });
});

test("holds a stream to its limits, with what had come", async () => {
  await using server = await saying(`{"say":"a"}\n{"say":"${"b".repeat(5_000)}"}\n`);
  const stream = sayings();
  await expect(postStream(server.baseURL, asked, { stream, limits: { streamBytes: 1_000 } })).rejects.toMatchObject({
    kind: "stream-too-large",
  });
  await expect(postJson(server.baseURL, asked, { limits: { bodyBytes: 100 } })).rejects.toMatchObject({
    kind: "body-too-large",
  });
});

test("what the author of a provider throws comes through as it is", async () => {
  await using server = await saying('{"say":"a"}\n');
  const bug = new TypeError("my bug");
  const stream: StreamedAnswer = {
    take() {
      throw bug;
    },
  };
  await expect(postStream(server.baseURL, asked, { stream })).rejects.toBe(bug);
});

const chunks = [
  { choices: [{ index: 0, delta: { role: "assistant", content: "Hel" } }] },
  { choices: [{ index: 0, delta: { content: "lo." }, finish_reason: "stop" }] },
];
const completion = {
  choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Hello." } }],
};

test.each([
  [
    "in chunks",
    `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")}data: [DONE]\n\n`,
    ["Hel", "lo."],
  ],
  ["whole, from a server that does not stream", JSON.stringify(completion), ["Hello."]],
])("chatStream takes a completion that comes %s", async (_, body, texts) => {
  await using server = await saying(body);
  const deltas: StreamDelta[] = [];
  const stream = chatStream((delta) => deltas.push(delta));
  expect((await postStream(server.baseURL, asked, { stream })).response).toEqual(completion);
  expect(deltas.flatMap((delta) => (delta.type === "text-delta" ? [delta.text] : []))).toEqual(texts);
});

test("postJson says of a stream how to read it", async () => {
  await using server = await saying('data: {"say":"a"}\n\n');
  await expect(postJson(server.baseURL, asked)).rejects.toThrow(/; it is a stream: read it with postStream$/);
});
