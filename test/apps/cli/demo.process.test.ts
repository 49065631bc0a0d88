import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import * as z from "zod";
import { startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { answerAsTravelAgent } from "../../../src/apps/cli/demo/travel-agent.ts";
import { serverDocument } from "../../../src/apps/documents/running.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { documentOf, turnlogHere } from "../../support/cli/command.ts";
import { startTurnlog, turnlog } from "../../support/cli/command-process.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

test("shows every request, what it saved and who broke a chain, and the commands to try next work", async () => {
  const { path: cwd, file } = temporaryFolder();
  const { code, stdout, stderr } = await turnlog(["demo"], { cwd });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(existsSync(file("turnlog.db"))).toBe(true);
  const shown = stdout.match(/^ +\d+ {3}(chained|rebased|full) .*$/gm) ?? [];
  expect(shown.map((line) => line.trim().split(/ +/)[1])).toEqual(
    "full chained rebased chained chained rebased chained full".split(" "),
  );
  expect(shown[0]).toContain("nothing was asked at this endpoint before");
  expect(shown[2]).toContain("shorten-results@1.2.0 modified block 5 (tool_result trains)");
  expect(shown[5]).toContain("ask-first@1.0.0 removed block 13 (system)");
  expect(shown[7]).toContain("speak-french@2.0.1 modified block 0 (system)");
  expect(stdout).toContain("8 requests: 4 chained, 2 rebased, 2 full");
  const [, saved] = / bytes sent, ~(\d+) % less than sending everything each time\n/.exec(stdout) ?? [];
  const [, estimated] = / ~(\d+) % saved /.exec((await turnlogHere(["ls"], { cwd })).stdout) ?? [];
  expect(Number(saved)).toBeGreaterThan(30);
  expect(saved).toBe(estimated);
  const commands = stdout.match(/^ {2}turnlog .*$/gm) ?? [];
  expect(commands).toHaveLength(2);
  for (const command of commands) {
    const outcome = await turnlog(command.trim().split(" ").slice(1), { cwd });
    expect(outcome, command).toMatchObject({ code: 0, stderr: "" });
  }
});

test("adds a conversation where a store is already", async () => {
  const { path: cwd } = temporaryFolder();
  await turnlogHere(["demo", "-q"], { cwd });
  await turnlogHere(["demo", "-q"], { cwd });
  const { data } = z
    .looseObject({ data: z.looseObject({ total: z.int() }) })
    .parse(documentOf(await turnlogHere(["ls", "--json"], { cwd })));
  expect(data.total).toBe(2);
});

test("keeps its store where TURNLOG_STORE says, unless --store says otherwise", async () => {
  const { path: cwd, file } = temporaryFolder();
  const env = { TURNLOG_STORE: "sqlite:one.db" };
  const { stdout } = await turnlog(["demo", "-q"], { cwd, env });
  expect(stdout).not.toContain("--store");
  const other = `sqlite:${file("two.db")}`;
  expect((await turnlogHere(["demo", "-q", "--store", other], { cwd, env })).stdout).toContain(`--store ${other}`);
  const spaced = `sqlite:${file("my log.db")}?deadlineMs=4000`;
  const quoted = await turnlogHere(["demo", "-q", "--store", spaced], { cwd, env });
  expect(quoted.stdout).toContain(` --store '${spaced}'\n`);
  const names = ["one.db", "two.db", "my log.db", "turnlog.db"];
  expect(names.map((name) => existsSync(file(name)))).toEqual([true, true, true, false]);
});

test("names the next commands as npm runs them where npm started it", async () => {
  const env = { npm_lifecycle_event: "start" };
  const { stdout } = await turnlogHere(["demo"], { cwd: temporaryFolder().path, env });
  expect(stdout).toMatch(/^ {2}npm run turnlog -- log cnv_/m);
});

test("request gives every body byte for byte as the server received it", async () => {
  const { path: cwd } = temporaryFolder();
  await using server = await startReferenceServer({ answer: answerAsTravelAgent });
  const outcome = await turnlogHere(["demo", "--json", "--server", server.url], { cwd });
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  const requests = z.looseObject({ data: z.looseObject({ requests: z.array(z.looseObject({ revision: z.int() })) }) });
  const revisions = requests.parse(documentOf(outcome)).data.requests.map(({ revision }) => revision);
  expect(server.requests).toHaveLength(revisions.length);
  for (const [index, revision] of revisions.entries()) {
    // The last one through a pipe.
    const run = index === revisions.length - 1 ? turnlog : turnlogHere;
    const { code, stdout } = await run(["request", `@last@${revision}`], { cwd });
    expect(code).toBe(0);
    expect(sha256Hex(stdout)).toBe(sha256Hex(server.requests[index]?.bodyText ?? ""));
  }
});

test("the reference server of the command line serves it from another process, and ends at SIGINT", async () => {
  const { path: cwd } = temporaryFolder();
  const { child, ended, firstLine } = startTurnlog(["reference-server", "--port", "0", "-q"], { cwd });
  const baseUrl = (await firstLine).trim();
  expect(baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
  expect(await turnlog(["demo", "-q", "--server", baseUrl], { cwd })).toMatchObject({ code: 0, stderr: "" });
  child.kill("SIGINT");
  expect(await ended).toMatchObject({ code: 0, stderr: "" });
});

test("answers other requests to the reference server", async () => {
  const { path: cwd } = temporaryFolder();
  const { child, ended, firstLine } = startTurnlog(["reference-server", "--port", "0", "--json"], { cwd });
  const { data } = z.strictObject({ version: z.literal(1), data: serverDocument }).parse(JSON.parse(await firstLine));
  const answer = await fetch(`${data.baseUrl}/responses`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: "Bearer x" },
    body: JSON.stringify({ model: "m", input: "Is anybody there?" }),
  });
  expect(JSON.stringify(await answer.json())).toContain("You said: ");
  child.kill("SIGTERM");
  expect(await ended).toMatchObject({ code: 0 });
});
