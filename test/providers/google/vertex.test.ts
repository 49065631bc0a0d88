import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { message, startReferenceServer } from "../../../src/entries/testing.ts";
import { createEngine, openStore } from "../../../src/index.ts";
import { googleVertex } from "../../../src/providers/google/vertex.ts";

const asked: string[] = [];
/** Google's metadata server, which gives machines of theirs tokens. */
const metadata = createServer(({ url = "" }, answer) => {
  asked.push(url);
  answer.setHeader("Metadata-Flavor", "Google");
  answer.setHeader("Content-Type", "application/json");
  const token = { access_token: "ya29.of-the-machine", expires_in: 3600, token_type: "Bearer" };
  answer.end(url.includes("/token") ? JSON.stringify(token) : url.includes("project-id") ? "my-project" : '"ok"');
});

/** Where nobody has left credentials. */
const home = mkdtempSync(join(tmpdir(), "turnlog-vertex-"));

beforeAll(async () => {
  await new Promise<void>((listening) => metadata.listen(0, "127.0.0.1", listening));
  // An address of Node's is one of a port here.
  const { port } = metadata.address() as AddressInfo;
  vi.stubEnv("GCE_METADATA_HOST", `127.0.0.1:${port}`);
  vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", "");
  vi.stubEnv("CLOUDSDK_CONFIG", home);
  vi.stubEnv("HOME", home);
});
afterAll(() => {
  vi.unstubAllEnvs();
  metadata.close();
  rmSync(home, { recursive: true, force: true });
});

test("without credentials Vertex is asked with a token of the machine, which is fetched once and masked", async () => {
  await using server = await startReferenceServer({
    answer: () => ({ output: [message("I know ya29.of-the-machine.")] }),
  });
  const provider = googleVertex({
    project: "p",
    location: "global",
    model: "gemini-3-flash-preview",
    baseURL: server.baseUrl,
  });
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  const texts: string[] = [];
  for (const text of ["One?", "Two?"]) {
    await conversation.append(text);
    texts.push((await conversation.run(createEngine({ provider }))).text);
  }
  expect(texts).toEqual(["I know [secret apiKey].", "I know [secret apiKey]."]);
  expect(server.requests.map(({ headers }) => headers["authorization"])).toEqual([
    "Bearer ya29.of-the-machine",
    "Bearer ya29.of-the-machine",
  ]);
  expect(asked.filter((url) => url.includes("/token"))).toHaveLength(1);
});

test("unreadable credentials are one error, and nothing is sent", async () => {
  vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", join(home, "none.json"));
  await using server = await startReferenceServer();
  const provider = googleVertex({
    project: "p",
    location: "global",
    model: "gemini-3-flash-preview",
    baseURL: server.baseUrl,
  });
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  await conversation.append("One?");
  const failure = await conversation.run(createEngine({ provider })).catch((error: unknown) => error);
  expect(failure).toMatchObject({ kind: "authentication" });
  expect(String(failure)).toMatch(/GOOGLE_APPLICATION_CREDENTIALS.*none\.json does not exist.*nothing was sent$/s);
  expect(server.requests).toEqual([]);
  expect((await conversation.turn()).length).toBe(1);
});
