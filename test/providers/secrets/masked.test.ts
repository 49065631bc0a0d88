import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import type { StreamDelta } from "../../../src/engine/ports/provider.ts";
import { secret } from "../../../src/index.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import type { OpenaiResponsesOptions } from "../../../src/providers/responses/responses-options.ts";
import { createMask } from "../../../src/providers/secrets/mask.ts";
import { maskedProvider } from "../../../src/providers/secrets/masked-provider.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { cases } from "../../support/cases.ts";
import { turnlogHere } from "../../support/cli/command.ts";
import { ask, failureOf } from "../../support/providers/inferences.ts";
import { answering, eventStream, eventsOf, serve } from "../../support/providers/loopback.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

/** What the requests of these tests carry, and nobody may read again. */
const carried = {
  token: "tok-7f3a9c-41",
  odd: 'pä/"ss\\w\nörd',
  key: "sk-live-5581-abcd",
  header: "team-4711-xyz",
  password: "hunter22!",
  query: "AIza-998877",
};

const options = (baseURL: string): OpenaiResponsesOptions => ({
  model: "m",
  apiKey: carried.key,
  baseURL: `${baseURL.replace("//", `//me:${encodeURIComponent(carried.password)}@`)}?api-version=1&key=${carried.query}`,
  headers: { "x-team": "blue", "x-auth-token": `Token ${carried.header}` },
  tools: [{ type: "mcp", server_label: "crm", server_url: "https://crm.example", authorization: secret("CRM") }],
  prompt_cache_key: secret("ODD"),
  secrets: { CRM: carried.token, ODD: carried.odd },
});

/** Every way in which a text may hold one of them, whole or all but its end. */
const forms = Object.values(carried).flatMap((value) => {
  const json = JSON.stringify(value).slice(1, -1);
  const start = value.slice(0, value.length - 2);
  return [
    value,
    json,
    JSON.stringify(json).slice(1, -1),
    encodeURIComponent(value),
    start,
    JSON.stringify(start).slice(1, -1),
  ];
});

const everything = Object.values(carried).join(" and ");
const said = (text: string) => ({
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text }],
});
const call = {
  type: "function_call",
  id: "fc_1",
  call_id: "c",
  name: "n",
  arguments: JSON.stringify({ x: everything }),
};
const thought = { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: everything }] };
const response = { id: "resp_1", object: "response", status: "completed" };
const error = { code: `no ${carried.token}`, param: carried.key, message: `Incorrect: ${everything}` };
const delta = (text: string, type = "response.output_text.delta") => ({ type, output_index: 0, delta: text });
const characters = Array.from(everything);
const deltas = characters.map((character) => delta(character));
const added = { type: "response.output_item.added", output_index: 0, item: { ...said(""), status: "in_progress" } };
const done = { type: "response.output_item.done", output_index: 0, item: said(everything) };
const ascii = (json: string) =>
  json.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

type Answer = Parameters<typeof serve>[0];
type ServerEvent = Readonly<Record<string, unknown>> & { readonly type: string };
const streaming = (...events: readonly ServerEvent[]): Answer => answering(eventsOf(...events), 200, eventStream);

const answers: readonly (readonly [string, Answer])[] = [
  ["the text of an answer", answering({ ...response, output: [said(everything)] })],
  ["a text in two parts", answering({ ...response, output: [{ ...said(""), content: halves(carried.token) }] })],
  ["arguments and reasoning", answering({ ...response, output: [thought, call] })],
  ["an echo of the settings", answering({ ...response, output: [], tools: options("http://x").tools?.map(filled) })],
  ["a field, its name and a usage", answering({ ...response, output: [], usage: { [carried.key]: everything } })],
  ["the id of the response", answering({ ...response, id: `resp_${carried.token}`, output: [said("hi")] })],
  ["the id of the request", answering({ ...response, output: [] }, 200, { "x-request-id": `req_${carried.token}` })],
  [
    "an answer that is made in the background",
    (reply, received) => {
      const made = { ...response, id: `resp_${carried.token}`, background: true };
      const whole = { ...made, output: [said(everything)] };
      answering(received.method === "GET" ? whole : { ...made, status: "queued", output: [] })(reply, received);
    },
  ],
  ["what is no response", answering(`<html><title>${everything}</title></html>`)],
  ["half a document", answering(`{"id":"resp_1","outp${everything}`)],
  ["an error", answering({ error }, 400)],
  ["an error that writes ASCII only", answering(ascii(JSON.stringify({ error })), 400)],
  ["a redirect", answering("", 307, { location: `https://example.com/${carried.token}?key=${carried.query}` })],
  ["an error in words", answering(`${"x".repeat(500 - carried.token.length + 2)}${carried.token}`, 500)],
  ["an error with headers", answering({ error }, 429, { "x-request-id": carried.token, "retry-after": carried.token })],
  ["a response that failed", answering({ ...response, status: "failed", output: [said(everything)], error })],
  ["deltas", streaming(added, ...deltas, done, { type: "response.completed", response: { ...response, output: [] } })],
  [
    "deltas of arguments",
    streaming(...characters.map((each) => delta(each, "response.function_call_arguments.delta")), {
      type: "response.completed",
      response: { ...response, output: [call] },
    }),
  ],
  ["an error in a stream", streaming(added, ...deltas, { type: "error", ...error })],
  ["a stream that ends within a secret", streaming(added, ...deltas.slice(0, carried.token.length - 2))],
];

function halves(text: string) {
  const middle = Math.floor(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)].map((half) => ({ type: "output_text", text: half }));
}

function filled(tool: object) {
  return { ...tool, authorization: carried.token };
}

/** Lets a server answer a run, and gives all that anybody may read of it afterwards. */
async function tracesOf(answer: Answer, given: Partial<OpenaiResponsesOptions> = {}): Promise<readonly string[]> {
  const traces: string[] = [];
  await using server = await serve(answer);
  const folder = temporaryFolder();
  await using store = new TurnlogStore(await openSqliteStore(folder.file("turnlog.db")));
  const conversation = store.conversation("cnv_secrets");
  await conversation.append("hi");
  let text = "";
  try {
    const engine = createEngine({ provider: openaiResponses({ ...options(server.baseURL), ...given }) });
    for await (const part of conversation.stream(engine)) {
      traces.push(inspect(part, { depth: null }), JSON.stringify(part));
      if ("text" in part) text += part.text;
    }
  } catch (thrown) {
    traces.push(inspect(thrown, { depth: null, showHidden: true }), String(thrown));
  }
  traces.push(text);
  for await (const envelope of store.events.readLog()) traces.push(JSON.stringify(envelope), envelope.data);
  for (const command of ["log @last -p", "show @last", "show @last --json", "why @last", "request @last", "verify"]) {
    const { stdout, stderr } = await turnlogHere(command.split(" "), { cwd: folder.path });
    traces.push(stdout, stderr);
  }
  return traces;
}

const foundIn = (traces: readonly string[]) => forms.filter((form) => traces.some((trace) => trace.includes(form)));

describe("no secret is left in store, output or errors of", () => {
  test.each(answers)("%s", async (_, answer) => {
    const traces = await tracesOf(answer);
    expect(foundIn(traces)).toEqual([]);
    // They are named, so the answer was read.
    expect(traces.join("\n")).toMatch(/\[secret (CRM|apiKey)\]|"\$secret":"CRM"/);
  });

  test("a client that quotes what it was to send", async () => {
    const fetch = async (address: unknown, init?: RequestInit): Promise<never> => {
      const shown = `cannot send ${inspect(address)} with ${inspect(new Headers(init?.headers))} and ${everything}`;
      throw Object.assign(new TypeError(shown, { cause: new Error(everything) }), { config: { init, everything } });
    };
    expect(foundIn(await tracesOf(answering({}), { fetch }))).toEqual([]);
  });
});

test("an answer in which something was masked is not continued from, and goes back without its ids", async () => {
  let requests = 0;
  await using server = await serve((reply, received) => {
    requests += 1;
    const text = requests === 2 ? `your token is ${carried.token}` : "hi";
    answering({ ...response, id: `resp_${requests}`, output: [{ ...said(text), id: `msg_${requests}` }] })(
      reply,
      received,
    );
  });
  const { path: cwd, file } = temporaryFolder();
  await using store = new TurnlogStore(await openSqliteStore(file("turnlog.db")));
  const conversation = store.conversation("cnv_secrets");
  const engine = createEngine({
    provider: openaiResponses({ ...options(server.baseURL), capabilities: { echo: "none" } }),
  });
  const decisions = [];
  for (const text of ["one", "two", "three", "four"]) {
    await conversation.append(text);
    const { steps } = await conversation.run(engine);
    decisions.push(steps[0]?.decision.anchor?.id ?? null);
  }
  // The third continues from before the masked answer, and the fourth from the third.
  expect(decisions).toEqual([null, "resp_1", "resp_1", "resp_3"]);
  expect(JSON.parse(server.received[2]?.body ?? "")).toMatchObject({
    input: [
      { role: "user" },
      { role: "assistant", content: [{ text: "your token is [secret CRM]" }] },
      { role: "user" },
    ],
  });
  expect(server.received[2]?.body).not.toContain("msg_2");
  const past = await conversation.at(-1);
  expect(past.serverContexts.map(({ responseId, unusable }) => [responseId, unusable])).toEqual([
    ["resp_1", null],
    ["resp_2", "masked"],
    ["resp_3", null],
    ["resp_4", null],
  ]);
  // The log alone gives the same decisions and bodies again.
  for (const command of ["verify", "replay cnv_secrets"]) {
    expect((await turnlogHere(command.split(" "), { cwd })).code, command).toBe(0);
  }
  const third = past.serverContexts[2]?.revision;
  expect((await turnlogHere(["why", `cnv_secrets@${third}`], { cwd })).stdout).toMatch(
    /resp_2 .* a secret was masked in the answer/,
  );
});

test("what is fetched by its id is masked too", async () => {
  await using server = await serve(answering({ ...response, output: [said(everything)] }));
  const provider = openaiResponses(options(server.baseURL));
  expect(foundIn([JSON.stringify(await provider.retrieve("resp_1"))])).toEqual([]);
  const { signal } = new AbortController();
  const waited = await provider.waitFor("resp_1", { signal, settings: provider.settings });
  expect(foundIn([JSON.stringify(waited)])).toEqual([]);
  expect(waited.isMasked).toBe(true);
});

test("an answer without secrets stays as it came, and its errors the same objects", async () => {
  const whole = { ...response, output: [said("sk-live, tok-7f3a, blue")], usage: { input_tokens: 17 } };
  await using server = await serve(answering(whole));
  const asked = await openaiResponses(options(server.baseURL)).infer({
    ...{ bodyText: "{}", settings: {}, transport: "json", signal: new AbortController().signal },
    onDelta: () => undefined,
  });
  expect(asked).toEqual({ response: whole, requestId: null });
  const cause = new Error("enough");
  const failure = await failureOf(ask(openaiResponses(options(server.baseURL)), { signal: AbortSignal.abort(cause) }));
  expect(failure.cause).toBe(cause);
});

test("deltas in any pieces say the masked text, and nothing is held back for good", async () => {
  const masked = ["abababab", "abcabcabd", "babababac"].map((value) => ({ name: value.at(-1) ?? "", value }));
  const letters = fc.string({
    unit: fc.constantFrom("a", "b", "ab", "c", "d", "abcabc", "abababab", " "),
    maxLength: 40,
  });
  await fc.assert(
    fc.asyncProperty(fc.array(letters, { maxLength: 12 }), async (pieces) => {
      const told: StreamDelta[] = [];
      const inner = openaiResponses({ model: "m", apiKey: "k" });
      const provider = maskedProvider(
        {
          ...inner,
          infer: async ({ onDelta }) => {
            for (const text of pieces) onDelta({ type: "text-delta", outputIndex: 0, text });
            return { response };
          },
        },
        () => masked,
      );
      const { signal } = new AbortController();
      const onDelta = (each: StreamDelta) => told.push(each);
      await provider.infer({ bodyText: "{}", settings: {}, transport: "sse", signal, onDelta });
      const text = told.map((each) => (each.type === "text-delta" ? each.text : "")).join("");
      expect(text).toBe(createMask(masked).text(pieces.join("")));
      for (const { value } of masked) expect(text).not.toContain(value);
    }),
    { numRuns: cases(400, 40_000, 2_000) },
  );
});

test("a secret of digits is masked where a server says it as a number", () => {
  const mask = createMask([{ name: "PIN", value: "1234567890" }]);
  expect(JSON.stringify(mask.json({ told: 1_234_567_890, kept: 42 }))).not.toContain("1234567890");
  expect(mask.hasMasked).toBe(true);
});
