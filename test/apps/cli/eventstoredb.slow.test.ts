import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { beforeEach, expect, test, vi } from "vitest";
import * as z from "zod";
import { createSoundStore } from "../../support/audit/sound-store.ts";
import { documentOf, turnlogHere } from "../../support/cli/command.ts";
import type { Outcome } from "../../support/outcome.ts";
import { startServer, withSetting } from "../../support/stores/eventstoredb-opened.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

// Views of a store on another machine are kept in the user's cache: not in that of who runs the tests.
beforeEach(() => {
  vi.stubEnv("XDG_CACHE_HOME", temporaryFolder().path);
  return () => {
    vi.unstubAllEnvs();
  };
});

async function place(options: Parameters<typeof startServer>[0] = {}) {
  const { path: cwd, file } = temporaryFolder();
  const server = await startServer(options);
  const url = server.connectionString;
  /** Runs what is typed on the server's store. */
  const run = (...typed: readonly string[]): Promise<Outcome> => turnlogHere([...typed, "--store", url], { cwd });
  return { cwd, file, server, url, run };
}

const listed = z.looseObject({
  data: z.looseObject({ conversations: z.array(z.looseObject({ id: z.string() })), total: z.int() }),
});
const copied = z.looseObject({ data: z.looseObject({ events: z.int(), conversations: z.array(z.unknown()) }) });

const ok = (outcome: Outcome): string => {
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  return outcome.stdout;
};

/** The same of a command that had to make its store, which it says. */
const okAnew = ({ stderr, ...outcome }: Outcome): string => {
  expect(stderr).toMatch(/^a new store was made: [^\n]+\n$/);
  return ok({ ...outcome, stderr: "" });
};

test.each([
  ["in the clear", {}],
  ["over TLS", { tls: true }],
])("every reading command takes an esdb:// address, %s, and the demo's own store", async (_, options) => {
  const { run, server, cwd, file } = await place(options);
  expect(ok(await run("demo", "-q"))).toContain("8 requests: 4 chained, 2 rebased, 2 full");
  const conversations = listed.parse(documentOf(await run("ls", "--json"))).data.conversations;
  const [{ id } = { id: "" }] = conversations;
  expect(server.events(`conversation-${id}`).length).toBeGreaterThan(60);
  expect(ok(await run("ls"))).toContain(id);
  expect(ok(await run("log", "@last")).split("\n").length).toBeGreaterThan(60);
  expect(ok(await run("log", id, "--transcript"))).toContain("Your code is K7Q2.");
  expect(ok(await run("show", `${id}@-1`))).toContain("demo");
  expect(ok(await run("why", "@last"))).toContain("speak-french@2.0.1");
  expect(ok(await run("blame", "@last"))).toContain("shorten-results@1.2.0");
  expect((await run("diff", `${id}@20..36`)).code).toBe(1);
  expect(ok(await run("verify"))).toContain("all sound");
  const bodies = ok(await run("request", id));
  okAnew(await run("copy", "--to", `sqlite:${file("copy.db")}`));
  expect(ok(await turnlogHere(["request", id, "--store", `sqlite:${file("copy.db")}`], { cwd }))).toBe(bodies);
  await server.idle();
});

test("recorded conversations are imported to, and rehearsed on, an esdb:// store", async () => {
  const { run, file } = await place();
  const messages = [
    { role: "user", content: "Which orders are late?" },
    { role: "assistant", content: "Order 4711." },
  ];
  writeFileSync(file("talks.jsonl"), JSON.stringify({ id: "d1", messages }));
  expect(okAnew(await run("import", file("talks.jsonl")))).toBe("1 conversation imported, 2 blocks\n");
  expect(ok(await run("import", file("talks.jsonl")))).toBe("0 conversations imported, 0 blocks; 1 already there\n");
  const rehearsed = await run(
    "rehearse",
    "--generate",
    "a",
    "--limit",
    "2",
    "--edit-rate",
    "0.5",
    "--reasoning",
    "--keep",
    "-q",
  );
  expect(ok(rehearsed)).toContain("the model read what it should in every request");
  expect(listed.parse(documentOf(await run("ls", "--json"))).data.total).toBe(3);
  expect(ok(await run("verify"))).toContain("all sound");
});

test("conversations go to a server and back by copy and by bundle, and come out the same", async () => {
  const { run, url, file, cwd } = await place();
  ok(await turnlogHere(["demo", "-q"], { cwd }));
  const refused = await turnlogHere(["copy", "--to", url], { cwd });
  expect(refused).toMatchObject({ code: 6, stdout: "" });
  expect(refused.stderr).toContain("is written as lines");
  await createSoundStore(file("json.db"), "json");
  const meeting = async (...typed: readonly string[]) =>
    turnlogHere([...typed, "--store", `sqlite:${file("json.db")}`], { cwd });
  const bundle = ok(await meeting("export", "cnv_meeting"));
  const copy = ["copy", "cnv_meeting", "--to", url, "--json"];
  const there = copied.parse(documentOf(await meeting(...copy)));
  expect(there.data.events).toBe(bundle.split("\n").length - 3);
  expect(copied.parse(documentOf(await meeting(...copy))).data.events).toBe(0);
  expect(okAnew(await run("copy", "--to", `sqlite:${file("back.db")}`))).toContain("1 conversation, ");
  // Members of an actor may come back in another order: its digest is over what it means.
  const events = (text: string): unknown =>
    text
      .split("\n")
      .slice(1, -2)
      .map((line): unknown => JSON.parse(line));
  const back = await turnlogHere(["export", "@last", "--store", `sqlite:${file("back.db")}`], { cwd });
  expect(events(ok(back))).toEqual(events(bundle));
  ok(await run("export", "@last", "-o", file("bundle.jsonl")));
  expect(events(readFileSync(file("bundle.jsonl"), "utf8"))).toEqual(events(bundle));
  const other = withSetting(url, "turnlogNamespace=other");
  expect(okAnew(await turnlogHere(["import", file("bundle.jsonl"), "--store", other], { cwd }))).toContain(
    "imported and verified",
  );
  expect(ok(await turnlogHere(["verify", "--store", other], { cwd }))).toContain("all sound");
});

test("reading commands create no store at a server, and say that there is none", async () => {
  const { run, server, file } = await place();
  const before = server.events().length;
  for (const typed of [
    "ls",
    "log @last",
    "show @last",
    "verify",
    "export @last",
    `copy --to sqlite:${file("none.db")}`,
  ]) {
    const outcome = await run(...typed.split(" "));
    expect(outcome, typed).toMatchObject({ code: 3, stdout: "" });
    expect(outcome.stderr).toMatch(/^turnlog: there is no turnlog store at esdb:\/\/[^\n]+\n$/);
  }
  expect(server.events()).toHaveLength(before);
  expect(existsSync(file("none.db"))).toBe(false);
});
