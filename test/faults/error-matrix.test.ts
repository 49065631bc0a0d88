import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  message,
  type ReferenceServer,
  reasoning,
  startReferenceServer,
} from "../../packages/reference-server/src/server.ts";
import type { JsonObject, JsonValue } from "../../src/base/json.ts";
import { RunFailedError } from "../../src/engine/session/errors.ts";
import { openaiResponses } from "../../src/providers/responses/openai-responses.ts";
import { isLong, isRound, partOf } from "../support/cases.ts";
import { checkNothingLost, errorOf, type Held, maxRetries, reactionTo } from "../support/faults/error-reactions.ts";
import { catalogue } from "../support/providers/error-catalogue.ts";
import { createWorkshop, dataOf, eventsOf } from "../support/workshop.ts";

type Mode = "chained" | "stateless" | "conversation" | "auto";
/** `auto` is one of the first two for each run: here the first. */
const modes: readonly Mode[] = ["chained", "stateless", "conversation", ...(isLong ? (["auto"] as const) : [])];

/** What a request of each mode continues from. */
const heldIn = {
  chained: "stored",
  auto: "stored",
  stateless: "nothing",
  conversation: "object",
} as const satisfies Record<Mode, Held>;

/** One way in which a server says no. */
type Frame = { readonly status: number; readonly contentType: string; readonly text: string };
type Shape = { readonly name: string; readonly isEvent: boolean; readonly frame: (row: Row) => Frame };
type Row = { readonly status: number; readonly body: JsonValue };

const stream = (...events: readonly JsonObject[]): Frame => ({
  status: 200,
  contentType: "text/event-stream",
  text: events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""),
});

const html = (status: number, text: string): Frame => ({ status, contentType: "text/html", text });
const plain = (status: number, text: string): Frame => ({ status, contentType: "text/plain", text });

const created: JsonObject = {
  type: "response.created",
  sequence_number: 0,
  response: { id: "resp_begun", object: "response", status: "in_progress", output: [] },
};

const shapes: readonly Shape[] = [
  {
    name: "an HTTP answer",
    isEvent: false,
    frame: ({ status, body }) => ({ status, contentType: "application/json", text: JSON.stringify(body) }),
  },
  {
    name: "an HTTP answer of another type",
    isEvent: false,
    frame: ({ status, body }) => ({ status, contentType: "text/html", text: ` ${JSON.stringify(body)}\n` }),
  },
  {
    name: "a flat error event",
    isEvent: true,
    frame: ({ body }) => {
      const { code, message: text, param } = errorOf(body);
      return stream(created, {
        type: "error",
        sequence_number: 1,
        code: code ?? null,
        message: text ?? null,
        param: param ?? null,
      });
    },
  },
  {
    name: "a nested error event",
    isEvent: true,
    frame: ({ body }) => stream(created, { type: "error", sequence_number: 1, error: errorOf(body) }),
  },
  {
    name: "a response that failed",
    isEvent: true,
    frame: ({ body }) => {
      const { code, message: text } = errorOf(body);
      const failed = { id: "resp_begun", object: "response", status: "failed", output: [] };
      const error = { code: code ?? null, message: text ?? null };
      return stream(created, { type: "response.failed", sequence_number: 1, response: { ...failed, error } });
    },
  },
  {
    name: "a body that is a response that failed",
    isEvent: true,
    frame: ({ body }) => {
      const { code, message: text } = errorOf(body);
      const failed = { id: "resp_begun", object: "response", status: "failed", output: [] };
      const error = { code: code ?? null, message: text ?? null };
      return { status: 200, contentType: "application/json", text: JSON.stringify({ ...failed, error }) };
    },
  },
];

let server: ReferenceServer;
beforeAll(async () => {
  server = await startReferenceServer({
    answer: () => ({ output: [reasoning({ summary: "thought" }), message("answer")] }),
  });
});
afterAll(() => server[Symbol.asyncDispose]());

type Asked = { readonly sent: string; readonly failure: unknown; readonly talk: Awaited<ReturnType<typeof talkTo>> };

/** A conversation of one answer, then a message whose request is answered by a frame, once or each time. */
async function ask(
  frame: Frame,
  { mode, isAlways }: { readonly mode: Mode; readonly isAlways: boolean },
): Promise<Asked> {
  const talk = await talkTo(mode);
  await talk.say("one");
  talk.answerWith(frame, isAlways ? Number.POSITIVE_INFINITY : 1);
  const before = talk.sent.length;
  const failure = await talk.say("two").then(
    () => null,
    (error: unknown) => (error instanceof RunFailedError ? error.cause : error),
  );
  talk.answerWith(frame, 0);
  return { sent: talk.sent.slice(before).join(""), failure, talk };
}

async function talkTo(mode: Mode) {
  const workshop = createWorkshop();
  const sent: string[] = [];
  let [given, times]: [Frame | null, number] = [null, 0];
  let object = "";
  const letterOf = (body: string): string => {
    const [, here = ""] = /"conversation":"(\w+)"/.exec(body) ?? [];
    const isSame = here !== "" && here === object;
    object = here;
    return isSame || body.includes('"previous_response_id"') ? "C" : "F";
  };
  const provider = openaiResponses({
    ...{ model: "m", baseURL: server.baseUrl, apiKey: "key-of-the-test" },
    fetch: async (address, init) => {
      if (!new Request(address, init).url.endsWith("/responses")) return fetch(address, init);
      sent.push(letterOf(typeof init?.body === "string" ? init.body : ""));
      if (times === 0 || given === null) return fetch(address, init);
      times -= 1;
      return new Response(given.text, { status: given.status, headers: { "content-type": given.contentType } });
    },
  });
  const engine = workshop.engine({ provider, mode, retry: { maxRetries } });
  return {
    ...{ workshop, sent },
    answerWith(frame: Frame, count: number): void {
      [given, times] = [frame, count];
    },
    async say(text: string): Promise<void> {
      await workshop.conversation.append(text);
      await workshop.conversation.run(engine);
    },
  };
}

const nothingLost = ({ failure, talk }: Asked): Promise<void> =>
  checkNothingLost(server, { conversation: talk.workshop.conversation, say: (text) => talk.say(text), failure });

const rows = catalogue.map((row) => ({ ...row, status: row.status ?? 400 }));

/**
 * In a round of CI every row meets every shape, and both meet every mode; all three together in several, one after the other. `npm test` plays
 * every fourth pair of a row and a shape.
 */
const modesOf = (row: number, shape: number): readonly Mode[] => {
  if (isLong) return modes;
  if (!isRound && (row + shape) % 4 > 0) return [];
  return modes.filter((_, mode) => mode === (row + shape + partOf(modes.length)) % modes.length);
};

describe.each(shapes)("told in $name", (shape) => {
  const { frame, isEvent } = shape;
  // A body without an error object is told over HTTP only.
  const told = rows.filter(({ body }) => !isEvent || Object.keys(errorOf(body)).length > 0);
  const inModes = told.flatMap((row) =>
    modesOf(rows.indexOf(row), shapes.indexOf(shape)).map((mode) => [row.of, mode, row] as const),
  );

  test.each(inModes)("%s, %s: the reaction of its kind, and nothing lost", async (_, mode, row) => {
    const [sentOnce] = reactionTo(row.kind)[heldIn[mode]];
    const asked = await ask(frame(row), { mode, isAlways: false });
    expect(asked.sent).toBe(sentOnce);
    if (sentOnce.length > 1) expect(asked.failure).toBeNull();
    else expect(asked.failure).toMatchObject({ kind: row.kind, outcome: row.outcome ?? "rejected" });
    const failed = dataOf(await eventsOf(asked.talk.workshop.conversation), "InferenceFailed");
    expect(failed.map(({ kind }) => kind)).toEqual([row.kind]);
    await nothingLost(asked);
  });

  const kinds = [...Map.groupBy(told, ({ kind }) => kind).values()].flatMap((of) => of.slice(0, 1));
  const stubborn = kinds.flatMap((row, index) =>
    modesOf(index, shapes.indexOf(shape)).map((mode) => [row.kind, mode, row] as const),
  );

  test.each(stubborn)("%s each time, %s: as often as its reaction says, and nothing lost", async (kind, mode, row) => {
    const [, sentAlways] = reactionTo(kind)[heldIn[mode]];
    const asked = await ask(frame(row), { mode, isAlways: true });
    expect(asked.sent).toBe(sentAlways);
    expect(asked.failure).toMatchObject({ kind, outcome: row.outcome ?? "rejected" });
    await nothingLost(asked);
  });
});

describe("told by a proxy in front of the server", () => {
  const page = (title: string): string => `<html><head><title>${title}</title></head><body>no</body></html>`;

  test.each<[string, Frame, kind: string, outcome: string, times: number]>([
    ["a page of 502", html(502, page("Bad Gateway")), "server-error", "unknown", 1],
    ["a text of 504", plain(504, "upstream timed out"), "server-error", "unknown", 1],
    ["an empty 500", plain(500, ""), "server-error", "unknown", 1],
    ["a page of 503", html(503, page("Busy")), "server-error", "rejected", 2],
    ["a text of 429", plain(429, "slow down"), "rate-limited", "rejected", 2],
    ["a page of 401", html(401, page("Log in")), "authentication", "rejected", 1],
    ["a text of 413", plain(413, "too big"), "invalid-request", "rejected", 1],
    ["a page of 200", html(200, page("Welcome")), "unknown", "unknown", 1],
    ["nothing with 200", plain(200, ""), "unknown", "unknown", 1],
    ["a stream that ends at once", stream(created), "stream-cut", "unknown", 1],
  ])("%s is %s, %s: sent again only where nothing was done", async (_, frame, kind, outcome, times) => {
    for (const mode of modes) {
      const asked = await ask(frame, { mode, isAlways: false });
      expect(asked.sent).toBe((mode === "stateless" ? "F" : "C").repeat(times));
      const failed = dataOf(await eventsOf(asked.talk.workshop.conversation), "InferenceFailed");
      expect(failed).toMatchObject([{ kind, outcome }]);
      await nothingLost(asked);
    }
  });
});
