import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { turnlogHere } from "../../support/cli/command.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

type Asked = { readonly url: string; readonly headers: IncomingHttpHeaders; readonly body: string };

/** A server of Chat Completions that keeps what it was asked. */
async function chatServer() {
  const asked: Asked[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = "";
    for await (const piece of request) body += String(piece);
    asked.push({ url: request.url ?? "", headers: request.headers, body });
    const message = { role: "assistant", content: "Hello." };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ id: "c1", choices: [{ index: 0, message, finish_reason: "stop" }] }));
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  // A server that listens on a port has such an address.
  const { port } = server.address() as AddressInfo;
  return { asked, baseURL: `http://127.0.0.1:${port}/v1` };
}

test("what variables and secrets have reaches the server, and the log has their names only", async () => {
  const { asked, baseURL } = await chatServer();
  const { path: cwd, file } = temporaryFolder();
  const provider = {
    ...{ wire: "chat", model: "m", transport: "json", baseURL: { env: "GATEWAY" }, apiKey: { env: "GATEWAY_KEY" } },
    headers: { "x-team": "support", "x-api-key": { env: "TEAM_KEY" } },
    queryParams: { "api-version": "preview", tenant: { env: "TENANT" } },
    user: { $secret: "USER" },
    secrets: { USER: { env: "USER_ID" } },
  };
  writeFileSync(file("turnlog.config.json"), JSON.stringify({ providers: { main: provider } }));
  const env = {
    ...{ GATEWAY: baseURL, GATEWAY_KEY: "sk-gateway-1234", TEAM_KEY: "team-key-5678" },
    ...{ TENANT: "tenant-91011", USER_ID: "user-121314" },
  };
  const outcome = await turnlogHere(["run", "@new", "Hi", "--id", "cnv_a"], { cwd, env });
  expect(outcome).toMatchObject({ code: 0, stdout: "Hello.\n" });
  expect(asked).toMatchObject([
    {
      url: "/v1/chat/completions?api-version=preview&tenant=tenant-91011",
      headers: { authorization: "Bearer sk-gateway-1234", "x-team": "support", "x-api-key": "team-key-5678" },
    },
  ]);
  expect(JSON.parse(asked[0]?.body ?? "")).toMatchObject({ model: "m", user: "user-121314" });
  const bundle = file("out.jsonl");
  await turnlogHere(["export", "cnv_a", "-o", bundle], { cwd });
  const recorded = readFileSync(bundle, "utf8");
  expect(recorded).toContain("Hello.");
  for (const value of Object.values(env).slice(1)) expect(recorded).not.toContain(value);
  const missing = await turnlogHere(["run", "cnv_a", "Hi"], { cwd, env: { ...env, TENANT: "" } });
  expect(missing.stderr).toContain("providers.main.queryParams.tenant: the variable TENANT is not set");
});

const config = join(import.meta.dirname, "../../support/cli/asking-stack.ts");

test("an engine of settings has the tools, layers and the context of its entry, in every command that takes a stack", async () => {
  const { path: cwd } = temporaryFolder();
  const turnlog = (line: string) => turnlogHere([...line.split(" "), "--config", config], { cwd });
  expect(await turnlog("run @new Hi --id cnv_a --stack settings")).toMatchObject({ code: 0, stdout: "Hello Ann.\n" });
  expect((await turnlog("request cnv_a --stack settings")).stdout).toContain("You talk to Ann.");
  for (const line of [
    "replay cnv_a --stack settings",
    "replay cnv_a --with settings",
    "verify --stack settings",
    "why cnv_a --stack settings",
    "regress --all --with settings",
  ])
    expect(await turnlog(line), line).toMatchObject({ code: 0 });
  // Another stack differs, so the name mattered.
  expect((await turnlog("replay cnv_a --stack made")).code).not.toBe(0);
});

test("a reading command says that the module beside it may name another store, unless it is quiet or the JSON file names one", async () => {
  const { path: cwd, file } = temporaryFolder();
  writeFileSync(file("turnlog.config.mjs"), `export default { store: "sqlite:work.db" };`);
  const env = { TURNLOG_STORE: "" };
  expect(await turnlogHere(["append", "@new", "Hi", "--id", "cnv_a"], { cwd, env })).toMatchObject({ code: 0 });
  const unread = "turnlog.config.mjs is not executed by a command that only reads: name its store with --store";
  expect((await turnlogHere(["ls"], { cwd, env })).stderr).toContain(unread);
  expect((await turnlogHere(["ls", "-q"], { cwd, env })).stderr).not.toContain(unread);
  writeFileSync(file("turnlog.config.json"), JSON.stringify({ store: "sqlite:work.db" }));
  const listed = await turnlogHere(["ls"], { cwd, env });
  expect(listed).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("cnv_a") as string });
});
