import { expect, test } from "vitest";
import type { Provider } from "../../../src/engine/ports/provider.ts";
import type { ChatDocument } from "../../../src/testing/rehearsal/chat-format.ts";
import type { RehearsalParts, RehearsalServer } from "../../../src/testing/rehearsal/ports.ts";
import { rehearsalParts } from "../../../src/testing/rehearsal/reference-parts.ts";
import { rehearse } from "../../../src/testing/rehearsal/rehearse.ts";
import { type Body, bodyOf, type Item, play, playGenerated, quiet, sending } from "../../support/rehearsal/playing.ts";

type Spoil = (provider: Provider) => Provider;

/** A provider that changes the items of one input in every seven, and lets the others be. */
const items =
  (change: (input: readonly Item[]) => readonly Item[]): Spoil =>
  (provider) =>
    sending(provider, (body, n) => (n % 7 === 3 ? { ...body, input: change(body.input) } : body));

/** Faults of a client, each of which must be told: else a rehearsal that says "coherent" says nothing. */
const faults: readonly (readonly [what: string, spoil: Spoil])[] = [
  ["drops the last item of an input", items((input) => input.slice(0, -1))],
  ["drops the first item of an input", items((input) => input.slice(1))],
  ["sends an item twice", items((input) => [...input, ...input.slice(-1)])],
  ["turns an input round", items((input) => input.toReversed())],
  ["swaps a role", items((input) => input.map((item) => ("role" in item ? { ...item, role: "developer" } : item)))],
  [
    "gives a result of its own",
    items((input) => input.map((item) => ("output" in item ? { ...item, output: "x" } : item))),
  ],
  ["changes one letter", (provider) => sending(provider, (body) => bodyOf(JSON.stringify(body).replace("e", "E")))],
  ["adds instructions that nobody gave", (provider) => sending(provider, (body) => ({ ...body, instructions: "lie" }))],
  ["sends the suffix without its anchor", (provider) => sending(provider, withoutAnchor)],
  ["sends the suffix of an older context on the newest one", onNewestAnchor],
  ["asks twice", askingTwice],
  ["answers by itself and asks nobody", (provider) => ({ ...provider, infer: async () => ({ response: ownAnswer }) })],
];

test.each(faults)("finds a client that %s", async (_what, spoil) => {
  const { figures, incoherent } = await playGenerated({ editRate: 0.5, parallel: true, count: 3 }, spoil);
  expect(figures.incoherent).toBeGreaterThan(0);
  expect(incoherent).toHaveLength(figures.incoherent);
});

test("finds a warm-up that does not say what was sent and answered last", async () => {
  const forgetful: Spoil = (provider) =>
    sending(provider, (body) => (body["generate"] === false ? { ...body, input: body.input.slice(1) } : body));
  const options = { transport: "websocket", warmUpRate: 0.5, count: 2 } as const;
  const { figures, incoherent } = await playGenerated(options, forgetful);
  expect(figures.incoherent).toBeGreaterThan(0);
  expect(incoherent.map(({ what }) => what)).toContainEqual(expect.stringMatching(/^its warm-up: /));
});

test("counts what is left of a conversation as missing once a request of it failed", async () => {
  const refuse: Spoil = (provider) => sending(provider, (body, n) => (n === 2 ? { ...body, model: 7 } : body));
  const { figures: whole } = await playGenerated({ count: 1 });
  const { figures, incoherent } = await playGenerated({ count: 1 }, refuse);
  expect([figures.requests, figures.coherent, figures.incoherent]).toEqual([3, 2, whole.requests - 2]);
  expect(incoherent.map(({ request }) => request)).toEqual(Array.from({ length: whole.requests - 2 }, (_, n) => n + 2));
});

test("counts one request too many, though the right one was answered and the other is ignored", async () => {
  const { figures, incoherent } = await play([oneAnswer], (provider) => ({
    ...provider,
    async infer(request) {
      const answer = await provider.infer(request);
      await expect(provider.infer({ ...request, bodyText: "{}" })).rejects.toThrow();
      return answer;
    },
  }));
  expect([figures.requests, figures.incoherent]).toEqual([2, 1]);
  expect(incoherent[0]?.what).toContain("2 requests");
});

test("counts a request that could not be judged", async () => {
  const parts = rehearsalParts(null);
  const unread = { ...parts, startServer: async (answer: Answers) => withoutReadings(await parts.startServer(answer)) };
  expect(await rehearse([oneAnswer], unread, quiet)).toMatchObject({ requests: 1, coherent: 0, incoherent: 1 });
});

type Answers = Parameters<RehearsalParts["startServer"]>[0];

function withoutReadings(server: RehearsalServer): RehearsalServer {
  return {
    baseUrl: server.baseUrl,
    get requests() {
      return server.requests;
    },
    warmUps: [],
    calls: [],
    difference: () => undefined,
    clear: () => {
      server.clear();
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const oneAnswer: ChatDocument = {
  id: "one answer",
  messages: [
    { role: "user", content: "Hello?" },
    { role: "assistant", content: "Hello." },
  ],
};

function askingTwice(provider: Provider): Provider {
  return {
    ...provider,
    async infer(request) {
      await provider.infer(request);
      return provider.infer(request);
    },
  };
}

function withoutAnchor({ previous_response_id: _, ...body }: Body): Body {
  return { ...body, input: body.input };
}

/** What clients do that remember one response id, and trust that the conversation only grows. */
function onNewestAnchor(provider: Provider): Provider {
  let newest: string | null = null;
  const spoilt = sending(provider, (body) =>
    body.previous_response_id === undefined || newest === null ? body : { ...body, previous_response_id: newest },
  );
  return {
    ...spoilt,
    async infer(request) {
      const { response } = await spoilt.infer(request);
      newest = typeof response["id"] === "string" ? response["id"] : null;
      // The echo would give it away to the engine, which is not what is tried here.
      const echo = bodyOf(request.bodyText).previous_response_id ?? null;
      return { response: { ...response, previous_response_id: echo } };
    },
  };
}

const ownAnswer = { id: "resp_own", object: "response", status: "completed", previous_response_id: null, output: [] };
