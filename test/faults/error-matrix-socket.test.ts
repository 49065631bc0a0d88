import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import {
  type Fault,
  message,
  type ReceivedRequest,
  type ReferenceServer,
  reasoning,
  startReferenceServer,
} from "../../packages/reference-server/src/server.ts";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import { RunFailedError } from "../../src/engine/session/errors.ts";
import { openaiResponses } from "../../src/providers/responses/openai-responses.ts";
import { isLong, isRound, partOf } from "../support/cases.ts";
import {
  checkNothingLost,
  errorOf,
  type Held,
  later,
  maxRetries,
  reactionTo,
} from "../support/faults/error-reactions.ts";
import { catalogue } from "../support/providers/error-catalogue.ts";
import { createWorkshop, dataOf, eventsOf } from "../support/workshop.ts";

/** What is continued from: what the server stores, what the connection remembers, or nothing. */
type Mode = "stored" | "local" | "stateless";
const modes: readonly Mode[] = ["stored", "local", "stateless"];
const heldIn = { stored: "stored", local: "local", stateless: "nothing" } as const satisfies Record<Mode, Held>;

/** Two rows are about the connection, and not about what was asked: another one takes it. */
const ofConnection: ReadonlySet<string> = new Set(["a socket of sixty minutes", "too many lanes"]);

type Row = (typeof rows)[number];
const rows = catalogue.map((row) => ({ ...row, status: row.status ?? 400 }));

/** One way in which a server says no on a socket: a frame, and how many of the answer's come before it. */
type Shape = {
  readonly name: string;
  readonly afterFrames: number;
  readonly frame: (row: Row, lane: JsonObject) => JsonObject;
  /** It does not say all that the row says, so that some kinds cannot be told from it. */
  readonly isTold: (row: Row) => boolean;
};

const hasError = ({ body }: Row): boolean => Object.keys(errorOf(body)).length > 0;

let failures = 0;

const shapes: readonly Shape[] = [
  {
    name: "the documented frame",
    afterFrames: 0,
    frame: ({ status, body }, lane) => ({ type: "error", status, ...lane, ...(isJsonObject(body) ? body : {}) }),
    isTold: () => true,
  },
  {
    name: "a frame without type and param, as seen",
    afterFrames: 0,
    frame({ status, body }, lane) {
      const { code = null, message: text = null } = errorOf(body);
      return { type: "error", status, ...lane, error: { code, message: text } };
    },
    // Whose parameter it is only `param` says.
    isTold: (row) => hasError(row) && row.of !== "zero data retention",
  },
  {
    name: "a flat frame without a status",
    afterFrames: 0,
    frame({ body }, lane) {
      const { code = null, message: text = null, param = null } = errorOf(body);
      return { type: "error", code, message: text, param, ...lane };
    },
    isTold: hasError,
  },
  {
    name: "an error in the middle of the events",
    afterFrames: 2,
    frame: ({ body }, lane) => ({ type: "error", sequence_number: 2, ...lane, error: errorOf(body) }),
    isTold: hasError,
  },
  {
    name: "a frame that names no lane",
    afterFrames: 0,
    frame: ({ status, body }) => ({ type: "error", status, ...(isJsonObject(body) ? body : {}) }),
    isTold: () => true,
  },
  {
    name: "a response that failed",
    afterFrames: 0,
    frame({ body }, lane) {
      const { code = null, message: text = null } = errorOf(body);
      // No two responses of a server have one id.
      failures += 1;
      const failed = { id: `resp_failed_${failures}`, object: "response", status: "failed", output: [] };
      const response = { ...failed, error: { code, message: text } };
      return { type: "response.failed", sequence_number: 1, response, ...lane };
    },
    isTold: hasError,
  },
];

/** Answers the requests that are to be refused. */
let refuse: (request: ReceivedRequest) => Fault | undefined = () => undefined;
let server: ReferenceServer;
beforeAll(async () => {
  server = await startReferenceServer({
    answer: () => ({ output: [reasoning({ summary: "thought" }), message("answer")] }),
    faults: (request) => refuse(request),
  });
});
afterAll(() => server[Symbol.asyncDispose]());

type Asked = { readonly sent: string; readonly failure: unknown; readonly talk: ReturnType<typeof talkTo> };

/** A conversation of one answer, then a message whose request is refused, once or each time. */
async function ask(shape: Shape, row: Row, { mode, times }: { readonly mode: Mode; readonly times: number }) {
  const talk = talkTo(mode);
  await talk.say("one");
  const before = server.requests.length;
  let left = times;
  refuse = ({ body }) => {
    if (left === 0) return undefined;
    left -= 1;
    const lane = isJsonObject(body) && typeof body["stream_id"] === "string" ? { stream_id: body["stream_id"] } : {};
    return { kind: "frame", data: JSON.stringify(shape.frame(row, lane)), afterFrames: shape.afterFrames };
  };
  const failure = await talk.say("two").then(
    () => null,
    (error: unknown) => (error instanceof RunFailedError ? error.cause : error),
  );
  refuse = () => undefined;
  const sent = server.requests.slice(before).map(({ body }) => {
    const anchor = isJsonObject(body) ? body["previous_response_id"] : undefined;
    return typeof anchor === "string" ? "C" : "F";
  });
  return { sent: sent.join(""), failure, talk } satisfies Asked;
}

function talkTo(mode: Mode) {
  const workshop = createWorkshop();
  const provider = openaiResponses({
    ...{ model: "m", baseURL: server.baseUrl, apiKey: "key-of-the-test", transport: "websocket" },
    ...(mode === "local" ? { store: false } : {}),
  });
  const chosen = mode === "stateless" ? ({ mode } as const) : {};
  const engine = workshop.engine({ provider, ...chosen, retry: { maxRetries } });
  onTestFinished(() => engine[Symbol.asyncDispose]());
  return {
    workshop,
    async say(text: string): Promise<void> {
      await workshop.conversation.append(text);
      await workshop.conversation.run(engine);
    },
  };
}

const nothingLost = ({ failure, talk }: Asked): Promise<void> =>
  checkNothingLost(server, { conversation: talk.workshop.conversation, say: (text) => talk.say(text), failure });

const reaction = ({ of, kind }: Row, mode: Mode): readonly [string, string] =>
  (ofConnection.has(of) ? later : reactionTo(kind))[heldIn[mode]];

/** As what it is recorded: what is about a connection is no more of the request than a connection that was refused. */
const kindOf = ({ of, kind }: Row): string => (ofConnection.has(of) ? "connection" : kind);

describe.each(shapes)("over WebSocket, told in $name", (shape) => {
  const told = rows.filter((row) => shape.isTold(row));
  const kinds = [...Map.groupBy(told, kindOf).values()].flatMap((of) => of.slice(0, 1));
  // What is done about a row its kind says, and the most is at stake in mode `local`: where there is little time a row is told there, and one of each
  // kind in one mode more, by turns. `npm test` plays, beside those, every fourth row.
  const others = modes.filter((mode) => mode !== "local");
  const turn = (kinds: readonly Row[], row: Row): readonly Mode[] =>
    others.filter(
      (_, other) => other === (kinds.indexOf(row) + shapes.indexOf(shape) + partOf(others.length)) % others.length,
    );
  const isPlayed = (row: Row): boolean =>
    isLong || isRound || kinds.includes(row) || (rows.indexOf(row) + shapes.indexOf(shape)) % 4 === 0;
  const inModes = told
    .filter(isPlayed)
    .flatMap((row) =>
      (isLong ? modes : ["local" as const, ...(kinds.includes(row) ? turn(kinds, row) : [])]).map(
        (mode) => [row.of, mode, row] as const,
      ),
    );

  test.each(inModes)("%s, %s: the reaction of its kind, and nothing lost", async (_, mode, row) => {
    const [sentOnce] = reaction(row, mode);
    const asked = await ask(shape, row, { mode, times: 1 });
    expect(asked.sent).toBe(sentOnce);
    if (sentOnce.length > 1) expect(asked.failure).toBeNull();
    else expect(asked.failure).toMatchObject({ kind: kindOf(row), outcome: row.outcome ?? "rejected" });
    const failed = dataOf(await eventsOf(asked.talk.workshop.conversation), "InferenceFailed");
    expect(failed.map(({ kind }) => kind)).toEqual([kindOf(row)]);
    await nothingLost(asked);
  });

  // In `npm test` a kind is refused each time in two of the six shapes.
  const isStubborn = (row: Row): boolean => isLong || isRound || (kinds.indexOf(row) + shapes.indexOf(shape)) % 3 === 0;
  const stubborn = kinds
    .filter(isStubborn)
    .flatMap((row) => (isLong ? modes : turn(kinds, row)).map((mode) => [kindOf(row), mode, row] as const));

  test.each(stubborn)("%s each time, %s: as often as its reaction says, and nothing lost", async (kind, mode, row) => {
    const [, sentAlways] = reaction(row, mode);
    const asked = await ask(shape, row, { mode, times: Number.POSITIVE_INFINITY });
    expect(asked.sent).toBe(sentAlways);
    expect(asked.failure).toMatchObject({ kind, outcome: row.outcome ?? "rejected" });
    await nothingLost(asked);
  });
});
