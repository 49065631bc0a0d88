import { expect, test } from "vitest";
import * as z from "zod";
import {
  type Fault,
  functionCall,
  message,
  type ReferenceServerOptions,
  startReferenceServer,
} from "../../packages/reference-server/src/server.ts";
import { createEngine, openStore, RunFailedError, type TurnlogStore, tool } from "../../src/index.ts";
import { rehearsalProviders } from "../../src/testing/rehearsal/ports.ts";
import { rehearsedProviders } from "../../src/testing/rehearsal/rehearsed-providers.ts";
import { isLong } from "../support/cases.ts";
import { dataOf, eventsOf } from "../support/workshop.ts";

type Told = Pick<RunFailedError, "kind" | "message">;

/** A conversation with one question, and an engine of one provider behind its reference server. */
async function asking(name: (typeof rehearsalProviders)[number], options: Partial<ReferenceServerOptions>) {
  const { server: dialect, provider, hasOwnTools } = rehearsedProviders[name];
  const server = await startReferenceServer({ ...dialect, seed: "every", deltaLength: 4, ...options });
  const engine = createEngine({
    provider: provider(server.baseUrl, "sse"),
    tools: hasOwnTools === true ? [] : [look],
    retry: { maxRetries: 0 },
  });
  const store = await openStore("memory:");
  const conversation = store.conversation();
  await conversation.append("How is the weather?");
  return {
    ...{ server, engine, conversation, hasOwnTools },
    texts: async () => (await conversation.turn()).blocks.map(({ text }) => text),
    failures: async () => dataOf(await eventsOf(conversation), "InferenceFailed"),
    [Symbol.asyncDispose]: async () => {
      await verified(store);
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Whatever happened, every request is made again byte for byte. */
async function verified(store: TurnlogStore): Promise<void> {
  expect((await store.verify()).problems).toEqual([]);
  await store[Symbol.asyncDispose]();
}

const look = tool({
  ...{ name: "look", description: "Looks.", inputSchema: z.object({ of: z.string() }) },
  execute: () => "seen ".repeat(3_000),
});

async function failureOf(run: Promise<unknown>): Promise<Told> {
  const error: unknown = await run.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error instanceof RunFailedError) return error;
  throw new Error("the run did not fail");
}

const said = "It is sunny, and it will be sunny for the rest of the day.";

test.each(rehearsalProviders)(
  "%s: an answer that breaks off fails the run, what had come is on record, and the next run goes on",
  async (name) => {
    const seen: boolean[] = [];
    // Somewhere within the answer; and one of the CLI is a process.
    const step = name === "claude-cli" ? 400 : isLong ? 100 : 300;
    for (let afterBytes = step; ; afterBytes += step) {
      const faults: Fault[] = [{ kind: "cut", afterBytes }];
      await using asked = await asking(name, {
        faults: () => faults.shift(),
        answer: () => ({ output: [message(said)] }),
      });
      const { engine, conversation, texts, failures, server } = asked;
      const run = conversation.run(engine);
      if (!(await isCut(run))) break;
      expect(await failureOf(run)).toMatchObject({ kind: "stream-cut" });
      expect(await texts()).toEqual(["How is the weather?"]);
      const [failed] = await failures();
      seen.push(JSON.stringify(failed?.partial ?? []).includes("It i"));
      await conversation.append("Well?");
      expect((await conversation.run(engine)).text).toBe(said);
      expect(server.requests).toHaveLength(2);
    }
    expect(seen.length).toBeGreaterThan(1);
    expect(seen).toContain(true);
  },
);

// A model of the AI SDK is an object, which has no name that a server could not know.
test.each(rehearsalProviders.filter((name) => name !== "ai-sdk"))(
  "%s: an unknown model is refused with what to do, and another answers",
  async (name) => {
    await using asked = await asking(name, { models: ["known"], answer: () => ({ output: [message(said)] }) });
    const { conversation, engine, texts, failures } = asked;
    const { kind, message: text } = await failureOf(conversation.run(engine));
    expect(kind).toBe("invalid-request");
    expect(text).toMatch(
      /\bmodel\b.*; give the provider or the run a model|ListModels|ollama pull|API Error: 404 model: /i,
    );
    expect([await texts(), await failures()]).toMatchObject([["How is the weather?"], [{ kind: "invalid-request" }]]);
    expect((await conversation.run(engine, { model: "known" })).text).toBe(said);
  },
);

// The CLI makes what it was told shorter by itself.
test.each(rehearsalProviders.filter((name) => name !== "claude-cli"))(
  "%s: a request that is too long is sent once more with its results cut",
  async (name) => {
    await using asked = await asking(name, {
      maxContextTokens: 2_000,
      answer: ({ request }) => ({ output: [request === 0 ? functionCall("look", '{"of":"it"}') : message(said)] }),
    });
    const { conversation, engine, server } = asked;
    expect((await conversation.run(engine)).text).toBe(said);
    expect(server.requests.map(({ status }) => status)).toEqual([200, 400, 200]);
    await conversation.append("And now?");
    expect((await conversation.run(engine)).text).toBe(said);
  },
);

test.each(rehearsalProviders)("%s: after the oldest exchanges were left out, the next run succeeds", async (name) => {
  await using asked = await asking(name, {
    answer: ({ request }) => ({
      output: [asked.hasOwnTools !== true && request % 2 === 0 ? functionCall("look", '{"of":"it"}') : message(said)],
    }),
  });
  const { conversation, engine, server, texts } = asked;
  for (const question of ["And now?", "And then?"]) {
    await conversation.run(engine);
    await conversation.append(question);
  }
  await conversation.compact({ how: "drop-exchanges", keep: 1 });
  expect(await texts()).not.toContain("How is the weather?");
  expect((await conversation.run(engine)).text).toBe(said);
  await conversation.compact({ how: "truncate-results", maxResultLength: 200 });
  await conversation.append("At last?");
  expect((await conversation.run(engine)).text).toBe(said);
  expect(new Set(server.requests.map(({ status }) => status))).toEqual(new Set([200]));
});

// Ollama counts nothing that it had read before, and threads are marked for no cache.
test.each(rehearsalProviders.filter((name) => name !== "ollama" && name !== "anthropic-threads"))(
  "%s: from the second request on the usage of an unedited conversation says what was cached",
  async (name) => {
    await using asked = await asking(name, { answer: () => ({ output: [message(`${said} `.repeat(200))] }) });
    const { conversation, engine } = asked;
    const cached: number[] = [];
    for (const question of ["Where? ".repeat(1_000), "And there?", "And then?"]) {
      await conversation.append(question);
      cached.push((await conversation.run(engine)).usage.cachedInputTokens);
    }
    const [first, second = 0, third = 0] = cached;
    expect(first).toBe(0);
    expect(second).toBeGreaterThan(0);
    expect(third).toBeGreaterThan(second);
  },
);

/** Whether a run failed, without looking at why. */
const isCut = (run: Promise<unknown>): Promise<boolean> =>
  run.then(
    () => false,
    () => true,
  );
