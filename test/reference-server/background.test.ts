import OpenAI from "openai";
import { expect, test } from "vitest";
import {
  message,
  type ReferenceServer,
  reasoning,
  startReferenceServer,
} from "../../packages/reference-server/src/server.ts";
import { accepted, framesIn, idOf, send, stream } from "../support/reference-server/wire-client.ts";

const body = { background: true, store: true, input: "go" };
const answer = () => ({ output: [reasoning({ summary: "hm" }), message("the answer, in several pieces of text")] });

/** The events of a stream that is read again, and how that was answered. */
async function resumed(server: ReferenceServer, id: string, query = "") {
  const response = await fetch(`${server.baseUrl}/responses/${id}?stream=true${query}`);
  const text = await response.text();
  return { status: response.status, text, frames: framesIn(text) };
}

/** Frame types up to where a stream pauses. */
async function firstTypes(response: Response, count: number) {
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString("utf8");
    if (framesIn(text).length >= count) break;
  }
  return framesIn(text).map((frame) => frame["type"]);
}

test("a stream of a background response can be read again, whole and from every event on", async () => {
  await using server = await startReferenceServer({ answer, deltaLength: 7 });
  const { frames } = await stream(server, body);
  expect(frames.map((frame) => frame["sequence_number"])).toEqual(frames.map((_, index) => index));
  const id = server.responseIds()[0] ?? "";
  expect((await resumed(server, id)).frames).toEqual(frames);
  for (const [index] of frames.entries()) {
    expect((await resumed(server, id, `&starting_after=${index}`)).frames).toEqual(frames.slice(index + 1));
  }
});

test("a stream begins before the response is there, and so does one that is read again", async () => {
  const { promise, resolve } = Promise.withResolvers<ReturnType<typeof answer>>();
  await using server = await startReferenceServer({ answer: () => promise });
  const text = JSON.stringify({ model: "m", stream: true, ...body });
  const first = await fetch(`${server.baseUrl}/responses`, { method: "POST", body: text });
  expect(await firstTypes(first, 3)).toEqual(["response.created", "response.queued", "response.in_progress"]);
  const id = server.responseIds()[0] ?? "";
  const again = resumed(server, id, "&starting_after=1");
  resolve(answer());
  const types = (await again).frames.map((frame) => frame["type"]);
  expect([types.at(0), types.at(-1)]).toEqual(["response.in_progress", "response.completed"]);
});

test("a stream that is cut goes on being made, and can be cut again where it is read again", async () => {
  await using server = await startReferenceServer({ answer });
  server.inject({ kind: "cut", afterBytes: 100 }, { kind: "cut", afterBytes: 100 });
  expect((await stream(server, body)).isBroken).toBe(true);
  const id = server.responseIds()[0] ?? "";
  await expect(resumed(server, id)).rejects.toThrow();
  expect((await resumed(server, id)).frames.at(-1)?.["type"]).toBe("response.completed");
});

test("a cancelled response ends its stream as cancelled", async () => {
  await using server = await startReferenceServer({ answer: () => Promise.withResolvers<never>().promise });
  const streamed = stream(server, body);
  await expect.poll(() => server.responseIds()).toHaveLength(1);
  const id = server.responseIds()[0] ?? "";
  await send(server, `/responses/${id}/cancel`, { method: "POST" });
  expect((await streamed).frames.at(-1)).toMatchObject({
    type: "response.cancelled",
    response: { id, status: "cancelled" },
  });
});

test("only what was asked for in the background and as a stream can be read again", async () => {
  await using server = await startReferenceServer({ answer });
  await stream(server, { input: "go" });
  const [foreground = ""] = server.responseIds();
  const quiet = idOf(await accepted(server, body));
  for (const id of [foreground, quiet]) expect((await resumed(server, id)).status).toBe(404);
  await stream(server, body);
  const wrong = await resumed(server, server.responseIds().at(-1) ?? "", "&starting_after=last");
  expect([wrong.status, wrong.text]).toEqual([400, expect.stringContaining("starting_after")]);
});

test("the official client polls, cancels, and takes a stream up again where it was", async () => {
  await using server = await startReferenceServer({ answer, deltaLength: 7 });
  const client = new OpenAI({ baseURL: server.baseUrl, apiKey: "none", maxRetries: 0 });
  const polled = await client.responses.create({ model: "m", input: "go", background: true });
  expect(polled.status).toBe("queued");
  await expect.poll(async () => (await client.responses.retrieve(polled.id)).status).toBe("completed");
  expect((await client.responses.cancel(polled.id)).status).toBe("completed");

  const streamed = await client.responses.create({ model: "m", input: "go", background: true, stream: true });
  let id = "";
  let last = -1;
  for await (const event of streamed) {
    if (event.type === "response.created") id = event.response.id;
    last = event.sequence_number;
    if (event.type === "response.output_text.delta") break;
  }
  const types: string[] = [];
  const rest = await client.responses.retrieve(id, { stream: true, starting_after: last });
  for await (const event of rest) types.push(event.type);
  expect(types.at(0)).toBe("response.output_text.delta");
  expect(types.at(-1)).toBe("response.completed");
  const helper = client.responses.stream({ response_id: id, starting_after: last });
  expect((await helper.finalResponse()).output_text).toBe("the answer, in several pieces of text");
});
