import { once } from "node:events";
import { createServer } from "node:http";
import { expect, test } from "vitest";
import { createChat } from "../../../src/apps/web/create-chat.ts";
import { toNode } from "../../../src/apps/web/to-node.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { pausing } from "../../support/web/pausing.ts";

test("a server of node:http streams an answer, and the run goes on when a reader hangs up", async () => {
  await using store = await openStore("memory:");
  const provider = pausing(["Once upon a time."]);
  const works: Promise<unknown>[] = [];
  const chat = createChat({
    ...{ store, engine: createEngine({ provider }), basePath: "/chat/" },
    access: () => ({ actor: { kind: "user", name: "ann" }, labels: {} }),
    waitUntil: (work) => void works.push(work),
  });
  const server = createServer(toNode(chat.fetch)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("no port");
  const base = `http://127.0.0.1:${address.port}/chat`;
  const hangUp = new AbortController();
  const message = { id: "m1", role: "user", parts: [{ type: "text", text: "A story!" }] };
  const response = await fetch(base, {
    ...{ method: "POST", headers: { "content-type": "application/json" }, signal: hangUp.signal },
    body: JSON.stringify({ id: "c1", messages: [message] }),
  });
  expect(response.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  await provider.halfTold(0);
  hangUp.abort();
  provider.goOn(0);
  await Promise.all(works);
  const replay = await (await fetch(`${base}/c1/stream`)).text();
  expect(replay).toContain('"delta":"Once upon a time."');
  expect(replay).toMatch(/data: \{"type":"finish","finishReason":"stop"\}\n\ndata: \[DONE\]\n\n$/);
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
});
