import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { functionCall, message, startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { googleCodeAssist } from "../../../src/entries/google.ts";
import { createEngine, openStore, tool } from "../../../src/index.ts";
import { generateDocuments } from "../../../src/testing/rehearsal/generate.ts";
import type { Incoherence } from "../../../src/testing/rehearsal/play.ts";
import { rehearsalParts } from "../../../src/testing/rehearsal/reference-parts.ts";
import { rehearse } from "../../../src/testing/rehearsal/rehearse.ts";
import { replaying } from "../../support/rehearsal/playing.ts";

const assist = { model: "gemini-3-pro", project: "p", credentialsOwner: "me@here" };
const versioned = (baseUrl: string): string => baseUrl.replace(/\/v1$/, "/v1internal");

test("a token that ends in mid-conversation is asked for anew, and the conversation goes on as if it had not", async () => {
  // Each token is good for two requests.
  const used = new Map<string, number>();
  const server = await startReferenceServer({
    seed: "code-assist",
    takesToken(token) {
      const times = (used.get(token) ?? 0) + 1;
      used.set(token, times);
      return times <= 2;
    },
    answer: ({ request }) => ({
      output: request % 2 === 0 ? [functionCall("weather", '{"city":"Paris"}')] : [message(`Sunny ${request}.`)],
    }),
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  let made = 1;
  const asked: boolean[] = [];
  const runs: string[] = [];
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  const weather = tool({
    ...{ name: "weather", description: "The weather of a city.", inputSchema: z.object({ city: z.string() }) },
    execute: ({ city }) => {
      runs.push(city);
      return "sunny";
    },
  });
  for (const transport of ["sse", "json", "sse"] as const) {
    const provider = googleCodeAssist({
      ...{ ...assist, transport, baseURL: versioned(server.baseUrl) },
      credentials: ({ isRefused }) => {
        asked.push(isRefused);
        if (isRefused) made += 1;
        return `token-of-the-test-${made}`;
      },
    });
    await conversation.append("How is the weather in Paris?");
    await conversation.run(createEngine({ provider, tools: [weather] }));
  }
  expect(server.requests.map(({ status }) => status)).toEqual([200, 200, 401, 200, 200, 401, 200, 200]);
  expect(asked.filter((isRefused) => isRefused)).toHaveLength(2);
  expect(runs).toEqual(["Paris", "Paris", "Paris"]);
  const turn = await conversation.turn();
  expect(turn.blocks.filter(({ kind }) => kind === "assistant").map(({ text }) => text)).toEqual([
    ...["Sunny 1.", "Sunny 3.", "Sunny 5."],
  ]);
  expect(await conversation.verify()).toMatchObject({ isSound: true, requests: 6 });
  expect(new Set(server.requests.map(({ path }) => path))).toEqual(
    new Set(["/v1internal:streamGenerateContent?alt=sse", "/v1internal:generateContent"]),
  );
});

test.each(["sse", "json"] as const)("rehearsals over it read what they have to read (%s)", async (transport) => {
  const incoherent: Incoherence[] = [];
  let token = 0;
  const parts = replaying(rehearsalParts(null, "google"));
  const figures = await rehearse(
    generateDocuments("code-assist", 4),
    {
      ...parts,
      provider: ({ baseUrl }) =>
        googleCodeAssist({
          ...{ ...assist, transport, baseURL: versioned(baseUrl) },
          credentials: () => {
            token += 1;
            return `token-of-the-test-${token}`;
          },
        }),
    },
    {
      ...{ seed: "1", edits: "all", editRate: 0.5, parallel: true, reasoning: true, transport, mode: "stateless" },
      onIncoherence: (each) => incoherent.push(each),
    },
  );
  expect(incoherent).toEqual([]);
  expect(figures.requests).toBeGreaterThan(20);
});

test.each<[string, object, Readonly<Record<string, string>>, number, string]>([
  ["without a token", { request: { contents: [] } }, {}, 401, "UNAUTHENTICATED"],
  [
    "with the request by itself",
    { contents: [] },
    { authorization: "Bearer token" },
    400,
    'Unknown name \\"contents\\"',
  ],
  ["without a request", { model: "m" }, { authorization: "Bearer token" }, 400, "Invalid JSON payload"],
])("a body %s is refused", async (_, body, headers, status, text) => {
  const server = await startReferenceServer({ seed: "code-assist" });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const address = `${versioned(server.baseUrl)}:generateContent`;
  const answer = await fetch(address, { method: "POST", headers, body: JSON.stringify(body) });
  expect([answer.status, await answer.text()]).toEqual([status, expect.stringContaining(text)]);
});
