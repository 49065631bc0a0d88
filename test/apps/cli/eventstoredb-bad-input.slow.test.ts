import { beforeEach, expect, test, vi } from "vitest";
import { appendPrepared } from "../../../src/testing/contracts/prepared.ts";
import { createSoundStore } from "../../support/audit/sound-store.ts";
import { turnlogHere } from "../../support/cli/command.ts";
import { anEvent } from "../../support/eventstoredb/server.ts";
import type { Outcome } from "../../support/outcome.ts";
import { opened, startServer } from "../../support/stores/eventstoredb-opened.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

beforeEach(() => {
  vi.stubEnv("XDG_CACHE_HOME", temporaryFolder().path);
  return () => {
    vi.unstubAllEnvs();
  };
});

const run = (url: string, ...typed: readonly string[]): Promise<Outcome> =>
  turnlogHere([...typed, "--store", url], { cwd: temporaryFolder().path });

/** One line on stderr alone that names what to change. */
function expectRefusal({ code, stdout, stderr }: Outcome, expected: number, message: RegExp): void {
  expect({ code, stdout, stderr }).toMatchObject({ code: expected, stdout: "" });
  expect(stderr).toMatch(message);
  expect(stderr).toMatch(/^turnlog: [^\n]+\n$/);
}

/** Also for a command that would write. */
const commands = [["ls"], ["demo", "-q"], ["verify"]] as const;

test("an unknown scheme exits 2, lists the known ones and shows no password", async () => {
  for (const typed of commands) {
    expectRefusal(
      await run("esbd://me:secret-4711@host:2113", ...typed),
      2,
      /esbd:\/\/host:2113 is not the address of a store: use sqlite:PATH, postgres:\/\/HOST\/DATABASE, esdb:\/\/HOST:PORT/,
    );
  }
  const { stderr } = await run("esbd://me:secret-4711@host:2113", "ls");
  expect(stderr).not.toContain("secret-4711");
});

test("an address with a part that cannot be meant exits 6 with that part", async () => {
  expectRefusal(await run("esdb://host?ssl=true", "ls"), 6, /there is no setting ssl/);
  expectRefusal(await run("esdb://me@host", "ls"), 6, /user:password@/);
});

test("a server that is not there exits 6 with what to check", async () => {
  for (const typed of commands)
    expectRefusal(await run("esdb://127.0.0.1:1?tls=false", ...typed), 6, /check host and port/);
  expectRefusal(await run("esdb://turnlog.invalid?tls=false", "ls"), 6, /correct the host in the address/);
});

test("a wrong password exits 6 with user:password, and does not show it", async () => {
  const server = await startServer({ tls: true });
  for (const typed of commands) {
    const outcome = await run(server.connectionStringFor("admin", "guess-4711"), ...typed);
    expectRefusal(outcome, 6, /refused the user name or password; correct user:password in the address/);
    expect(outcome.stderr).not.toContain("guess-4711");
  }
  expect(server.events().filter(({ stream }) => stream.startsWith("conversation-"))).toEqual([]);
});

test("a certificate that is not trusted exits 6 with tlsCAFile, and a server without TLS with tls=false", async () => {
  const secure = await startServer({ tls: true });
  const untrusted = secure.connectionString.replace(/&tlsCAFile=.*/, "");
  for (const typed of commands)
    expectRefusal(await run(untrusted, ...typed), 6, /its certificate is not trusted.*tlsCAFile=/);
  const plain = await startServer();
  expectRefusal(
    await run(plain.connectionString.replace("tls=false", "tls=true"), "ls"),
    6,
    /add tls=false to the address/,
  );
});

test("a user who may not write exits 6 with the right that is missing, and nothing is written", async () => {
  const server = await startServer({ tls: true, users: { reader: { password: "p", isAdmin: true, mayWrite: false } } });
  const reading = server.connectionStringFor("reader", "p");
  expectRefusal(await run(reading, "demo", "-q"), 6, /not allowed to append .*turnlog-store.*give it that right/);
  expect((await run(server.connectionString, "demo", "-q")).code).toBe(0);
  const before = server.events().length;
  expectRefusal(await run(reading, "demo", "-q"), 6, /not allowed to append conversation-cnv_\w+ .*\$acl/);
  expect((await run(reading, "ls")).code).toBe(0);
  expect(server.events()).toHaveLength(before);
});

test("a user who may not read the whole log exits 6 with the right that listing needs", async () => {
  const server = await startServer({ tls: true, users: { app: { password: "pass-4711" } } });
  const url = server.connectionStringFor("app", "pass-4711");
  const demo = await run(url, "demo");
  expect(demo).toMatchObject({ code: 0, stderr: "" });
  expect(demo.stdout).not.toContain("pass-4711");
  expectRefusal(await run(url, "ls"), 6, /not allowed to read \$all .*give it that right/);
  // A conversation that is named by its whole id needs no list.
  const [id = ""] = /cnv_\w+/.exec(demo.stdout) ?? [];
  expect((await run(url, "log", id)).code).toBe(0);
});

test("events of another program in a conversation exit 4 with turnlogNamespace", async () => {
  const server = await startServer();
  const store = await opened(server.connectionString);
  const { sent } = await appendPrepared(store, {
    data: ['{"origin":{"type":"new"}}'],
    stream: "conversation-cnv_mixed",
  });
  server.write(sent.stream, [anEvent("Ordered")]);
  const message = /another program wrote event 1 of conversation-cnv_mixed.*turnlogNamespace=/;
  for (const typed of [
    ["log", "cnv_mixed"],
    ["show", "cnv_mixed"],
    ["export", "cnv_mixed"],
  ])
    expectRefusal(await run(server.connectionString, ...typed), 4, message);
  expectRefusal(await run(server.connectionString, "copy", "--to", "memory:"), 4, message);
});

test("an append over the server's limit exits 1 with MaxAppendSize, and nothing is half written", async () => {
  const server = await startServer({ maxAppendBytes: 2_000 });
  const source = temporaryFolder();
  await createSoundStore(source.file("turnlog.db"), "json");
  const outcome = await turnlogHere(["copy", "-q", "--to", server.connectionString], { cwd: source.path });
  expectRefusal(outcome, 1, /accepts less than turnlog sends .*raise its MaxAppendSize to 1048576 or more/);
  expect(server.events().filter(({ stream }) => stream.startsWith("conversation-"))).toEqual([]);
});
