import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startExample } from "../../support/web/example-server.ts";

/** The server of examples/chat in two processes, on one store. */
type Server = Awaited<ReturnType<typeof startExample>>;
let folder = "";
let [one, two]: readonly (Server | undefined)[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "turnlog-chat-"));
  const address = `sqlite:${join(folder, "chat.db")}`;
  [one, two] = await Promise.all([startExample(address), startExample(address)]);
});
afterAll(async () => {
  await Promise.all([one?.kill(), two?.kill()]);
  await rm(folder, { recursive: true });
});

const ask = (server: Server | undefined, id: string, text: string): Promise<Response> =>
  fetch(`${server?.url}/api/chat`, {
    ...{ method: "POST", headers: { "content-type": "application/json" } },
    body: JSON.stringify({ id, messages: [{ id: "m1", role: "user", parts: [{ type: "text", text }] }] }),
  });

/** The text of an answer, and how its stream ended. */
function textIn(stream: string): { readonly text: string; readonly end: string } {
  const chunks = [...stream.matchAll(/^data: (\{.*\})$/gm)].map(
    ([, json = ""]) => JSON.parse(json) as Record<string, string>,
  );
  const start = chunks.findLastIndex(({ type }) => type === "reset-step");
  const deltas = chunks.slice(start + 1).filter(({ type }) => type === "text-delta");
  return { text: deltas.map(({ delta }) => delta).join(""), end: chunks.at(-1)?.["type"] ?? "" };
}

/** A reader that has read the beginning of an answer. */
async function begunAt(server: Server | undefined, id: string) {
  const response = await ask(server, id, "Hello");
  const reader = response.body?.getReader();
  await reader?.read();
  return { leave: () => reader?.cancel() };
}

test("a page of another process gets the answer that a living process makes, and may send the same message again", async () => {
  const begun = await begunAt(one, "c1");
  const [again, resumed] = await Promise.all([
    ask(two, "c1", "Hello").then((response) => response.text()),
    fetch(`${two?.url}/api/chat/c1/stream`).then((response) => response.text()),
  ]);
  await begun.leave();
  expect(textIn(resumed)).toEqual(textIn(again));
  expect(textIn(resumed).text).toMatch(/takes a moment to arrive\.$/);
  const { messages } = (await (await fetch(`${two?.url}/api/chat/c1`)).json()) as {
    readonly messages: readonly unknown[];
  };
  expect(messages).toHaveLength(2);
});

test("stop reaches the process that runs the conversation", async () => {
  const begun = await begunAt(one, "c2");
  const stopped = await fetch(`${two?.url}/api/chat/c2/stop`, { method: "POST" });
  expect(await stopped.json()).toEqual({ status: "cancelled" });
  await begun.leave();
});

test("a run whose process is killed is taken up by the other process, for the page that asks for its stream", async () => {
  const begun = await begunAt(one, "c3");
  await one?.kill();
  await begun.leave()?.catch(() => undefined);
  const resumed = await (await fetch(`${two?.url}/api/chat/c3/stream`)).text();
  expect(textIn(resumed)).toMatchObject({
    text: expect.stringMatching(/takes a moment to arrive\.$/) as string,
    end: "finish",
  });
});
