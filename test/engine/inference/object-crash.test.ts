import { expect, onTestFinished, test } from "vitest";
import { message, reasoning, startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import type { Breakpoint } from "../../../src/engine/session/breakpoint.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { dieAt, type Life } from "../../support/run/scene.ts";
import { dataOf, eventsOf } from "../../support/workshop.ts";

const effect =
  (name: string, phase: Breakpoint["phase"]) =>
  (stop: Breakpoint): boolean =>
    stop.kind === "effect" && stop.name === name && stop.phase === phase;
const request =
  (phase: Breakpoint["phase"]) =>
  (stop: Breakpoint): boolean =>
    stop.kind === "inference" && stop.phase === phase;

const cut = ["GET", "DELETE", "DELETE", "DELETE", "POST responses"];

test.each<[string, (stop: Breakpoint) => boolean, resumed: readonly string[]]>([
  ["before the items are listed", effect("conversation-list", "before"), cut],
  ["when they have been listed", effect("conversation-list", "after"), cut],
  ["before the first is deleted", effect("conversation-delete", "before"), cut],
  ["when all have been deleted", effect("conversation-delete", "after"), ["GET", "POST responses"]],
  // What was asked may still come into the object.
  ["before the request", request("before"), ["GET", "POST conversations", "POST responses"]],
  // All that the request brought, and the answer to it.
  ["when it was answered", request("after"), ["GET", ...Array.from({ length: 5 }, () => "DELETE"), "POST responses"]],
])(
  "a process that died %s: the next one lists the items of the object before anything else",
  async (_, at, resumed) => {
    const server = await startReferenceServer({
      answer: ({ request }) => ({
        output: [reasoning({ summary: `thought ${request}` }), message(`answer ${request}`)],
      }),
    });
    onTestFinished(() => server[Symbol.asyncDispose]());
    const events = createMemoryStore();
    let hidden = "";
    const hide = defineMiddleware(
      { name: "hide", version: "1.0.0" },
      (next) => (turn) => next(turn.filter(({ text }) => text !== hidden)),
    );
    const provider = openaiResponses({ model: "m", baseURL: server.baseUrl, apiKey: "key", transport: "json" });
    const process = (): Life => ({
      conversation: new TurnlogStore(events).conversation("cnv_object"),
      engine: createEngine({ provider, mode: "conversation", middleware: [hide] }),
    });
    const first = process();
    for (const text of ["one", "two"]) {
      await first.conversation.append(text);
      await first.conversation.run(first.engine);
    }
    hidden = "two";
    await first.conversation.append("three");
    await dieAt(first, at);
    const before = server.requests.length;
    const { conversation, engine } = process();
    expect(await conversation.resume(engine)).toMatchObject({ status: "completed" });
    const calls = server.requests.slice(before).map(({ method, path }) => {
      const [, , what = ""] = path.split("/");
      return method === "POST" ? `POST ${what}` : method;
    });
    expect(calls).toEqual(resumed);
    expect(server.reading(server.requests.length - 1)?.items.map(({ type }) => type)).toEqual([
      ...["message", "reasoning", "message"],
      ...["reasoning", "message", "message"],
    ]);
    const begun = dataOf(await eventsOf(conversation), "EffectStarted").length;
    expect(dataOf(await eventsOf(conversation), "EffectFinished")).toHaveLength(begun);
    expect((await conversation.verify()).problems).toEqual([]);
  },
);
