import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
import { perform } from "../../../src/apps/cli/command.ts";
import { log } from "../../../src/apps/cli/commands/log.ts";
import { type CliContext, createContext } from "../../../src/apps/cli/context.ts";
import { followDocument } from "../../../src/apps/documents/conversations.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import type { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { turnlogHere } from "../../support/cli/command.ts";
import { startTurnlog } from "../../support/cli/command-process.ts";
import { startServer } from "../../support/stores/eventstoredb-opened.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

let cache = "";
beforeEach(() => {
  cache = temporaryFolder().path;
  vi.stubEnv("XDG_CACHE_HOME", cache);
  return () => {
    vi.unstubAllEnvs();
  };
});

const urls: readonly (readonly [kind: string, url: () => Promise<string>])[] = [
  ["sqlite", async () => `sqlite:${temporaryFolder().file("turnlog.db")}`],
  ["esdb", async () => (await startServer()).connectionString],
];

async function opened(url: string): Promise<TurnlogStore> {
  const store = await openStore(url, { viewsPath: ":memory:" });
  onTestFinished(() => store.close());
  return store;
}

test.each(urls)("shows what another process writes to %s as it comes, and ends at SIGINT with 130", async (_, url) => {
  const address = await url();
  const store = await opened(address);
  await store.conversation("cnv_followed").append("one");
  // The name of another conversation that begins like this one's.
  await store.conversation("cnv_followed_too").append("not this");
  const options = { cwd: temporaryFolder().path, env: { XDG_CACHE_HOME: cache } };
  const { child, ended, firstLine } = startTurnlog(["log", "cnv_followed", "-f", "--store", address], options);
  const lines: string[] = [];
  child.stdout?.on("data", (chunk: Buffer) => lines.push(chunk.toString()));
  const shown = (): string => lines.join("");
  await firstLine;
  await expect.poll(shown, { interval: 5, timeout: 30_000 }).toContain("“one”");
  for (const word of ["two", "three"]) {
    await store.conversation("cnv_followed_too").append("nor this");
    await store.conversation("cnv_followed").append(word);
    await expect.poll(shown, { interval: 5, timeout: 30_000 }).toContain(`“${word}”`);
  }
  child.kill("SIGINT");
  const { code, stdout, stderr } = await ended;
  expect({ code, stderr }).toEqual({ code: 130, stderr: "" });
  const rows = stdout.trimEnd().split("\n");
  expect(rows.map((row) => Number(row.trim().split(" ")[0]))).toEqual([0, 1, 2, 3]);
  expect(stdout).not.toContain("this");
});

const followed = z.strictObject({ version: z.literal(1), data: followDocument });

/** A command's context whose stdout takes a line only when it is asked to, and that ends by `end`. */
function slowReader(url: string) {
  const taken: string[] = [];
  const drains: (() => void)[] = [];
  const ending = new AbortController();
  const stdout = {
    write: (text: string) => taken.push(text),
    writableNeedDrain: true,
    once: (_: "drain", listener: () => void) => drains.push(listener),
  };
  const context: CliContext = {
    ...createContext({ store: url, json: true }, { stdout, stderr: { write: () => true }, env: {} }),
    signal: ending.signal,
  };
  return {
    context,
    taken,
    waits: () => drains.length,
    take: () => {
      for (const drain of drains.splice(0)) drain();
    },
    end: () => {
      ending.abort();
    },
  };
}

test.each(urls)("gives --json a document a line, from the revision that was named, on %s", async (_, url) => {
  const address = await url();
  const store = await opened(address);
  for (const word of ["one", "two", "three"]) await store.conversation("cnv_json").append(word);
  const reader = slowReader(address);
  const following = perform(log, reader.context, { arguments: ["cnv_json@2"], options: { follow: true } });
  for (let revision = 2; revision < 4; revision += 1) {
    await expect.poll(reader.waits, { interval: 1, timeout: 30_000 }).toBe(1);
    reader.take();
  }
  await store.conversation("cnv_json").append("four");
  await expect.poll(() => reader.taken.length, { interval: 1, timeout: 30_000 }).toBe(3);
  reader.end();
  expect(await following).toBe(130);
  const documents = reader.taken.map((line) => followed.parse(JSON.parse(line)));
  expect(documents.map(({ data }) => data.event.revision)).toEqual([2, 3, 4]);
  expect(reader.taken.every((line) => line.endsWith("\n") && line.indexOf("\n") === line.length - 1)).toBe(true);
});

test("a reader that takes nothing holds it up, and another one does not wait for it", async () => {
  const address = `sqlite:${temporaryFolder().file("turnlog.db")}`;
  const store = await opened(address);
  for (let n = 0; n < 20; n += 1) await store.conversation("cnv_json").append(`message ${n}`);
  const [slow, quick] = [slowReader(address), slowReader(address)];
  const following = [slow, quick].map((reader) =>
    perform(log, reader.context, { arguments: ["cnv_json"], options: { follow: true, limit: 0 } }),
  );
  // The start of the conversation, and twenty messages.
  await expect
    .poll(
      () => {
        quick.take();
        return quick.taken.length;
      },
      { interval: 1, timeout: 30_000 },
    )
    .toBe(21);
  expect(slow.taken.length).toBe(1);
  slow.end();
  quick.end();
  expect(await Promise.all(following)).toEqual([130, 130]);
  expect(slow.taken.length).toBe(1);
});

test.each([
  ["the last ten", {}, [11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]],
  ["as many as -n says", { limit: 2 }, [19, 20, 21]],
  ["those that are wanted of all", { limit: 1, grep: "message 7" }, [8, 21]],
])("begins with %s", async (_, options, revisions) => {
  const address = `sqlite:${temporaryFolder().file("turnlog.db")}`;
  const store = await opened(address);
  for (let n = 0; n < 20; n += 1) await store.conversation("cnv_json").append(`message ${n}`);
  const reader = slowReader(address);
  const following = perform(log, reader.context, { arguments: ["cnv_json"], options: { ...options, follow: true } });
  const takeUntil = (count: number) =>
    expect
      .poll(
        () => {
          reader.take();
          return reader.taken.length;
        },
        { interval: 1, timeout: 30_000 },
      )
      .toBe(count);
  await takeUntil(revisions.length - 1);
  await store.conversation("cnv_json").append("message 77");
  await takeUntil(revisions.length);
  reader.end();
  expect(await following).toBe(130);
  const shown = reader.taken.map((line) => followed.parse(JSON.parse(line)).data.event.revision);
  expect(shown).toEqual(revisions);
});

test("refuses to follow what has an end, and exits 2", async () => {
  const { path: cwd, file } = temporaryFolder();
  const store = await opened(`sqlite:${file("turnlog.db")}`);
  await store.conversation("cnv_json").append("one");
  for (const typed of ["log cnv_json@0..1 -f", "log cnv_json --transcript --follow", "log cnv_json -f --reverse"]) {
    const outcome = await turnlogHere(typed.split(" "), { cwd });
    expect(outcome).toMatchObject({ code: 2, stdout: "" });
    expect(outcome.stderr).toMatch(/^turnlog: [^\n]*--follow[^\n]+\n$/);
  }
});
