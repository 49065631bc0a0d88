import { expect, test } from "vitest";
import { openStore } from "../../../src/conversation/open-store.ts";
import { turnlogHere } from "../../support/cli/command.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

test("ls shows labels, and lists only conversations that have those which are named", async () => {
  const { path: cwd, file } = temporaryFolder();
  const store = await openStore(`sqlite:${file("turnlog.db")}`);
  for (const [id, user] of [
    ["cnv_a", "ann"],
    ["cnv_b", "bob"],
  ]) {
    const conversation = store.conversation(id);
    await conversation.append("hello");
    await conversation.relabel({ labels: { user: user ?? "" } });
  }
  await store.close();
  expect((await turnlogHere(["ls"], { cwd })).stdout).toMatch(/cnv_b.*\[user=bob\] hello\ncnv_a.*\[user=ann\] hello\n/);
  const ofAnn = await turnlogHere(["ls", "--label", "user=ann"], { cwd });
  expect(ofAnn).toMatchObject({ code: 0, stdout: expect.stringMatching(/^cnv_a.*\n$/) as string });
  const refused = await turnlogHere(["ls", "--label", "ann"], { cwd });
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toContain("Expected NAME=VALUE, such as user=ann.");
});

test("ls filters by time, state and losses, sorts, and goes on where a page ended", async () => {
  const { path: cwd, file } = temporaryFolder();
  const store = await openStore(`sqlite:${file("turnlog.db")}`);
  for (const id of ["cnv_a", "cnv_b", "cnv_c"]) await store.conversation(id).append("hello");
  await store.conversation("cnv_a").append("again");
  await store.close();
  const ids = async (...words: readonly string[]) =>
    Array.from((await turnlogHere(["ls", ...words], { cwd })).stdout.matchAll(/^cnv_\w/gm), ([id]) => id);
  expect(await ids()).toEqual(["cnv_a", "cnv_c", "cnv_b"]);
  expect(await ids("--sort", "startedAt", "--reverse")).toEqual(["cnv_a", "cnv_b", "cnv_c"]);
  expect(await ids("--since", "1h")).toHaveLength(3);
  expect(await ids("--until", "1h")).toEqual([]);
  expect(await ids("--state", "open")).toEqual([]);
  expect(await ids("--losses")).toEqual([]);
  const { stdout } = await turnlogHere(["ls", "-n", "2", "--json"], { cwd });
  const { data } = JSON.parse(stdout) as { readonly data: { readonly next: string; readonly total: number } };
  expect(data.total).toBe(3);
  expect(await ids("--after", data.next)).toEqual(["cnv_b"]);
  const told = await turnlogHere(["ls", "-n", "2"], { cwd });
  expect(told.stderr).toContain(`1 more, older: --limit 0 shows all, --after ${data.next} the next`);
  expect(await turnlogHere(["ls", "--state", "waiting"], { cwd })).toMatchObject({ code: 2, stdout: "" });
});

test("says how many conversations were written as json, because those can be erased only as a whole", async () => {
  const folder = temporaryFolder();
  const url = `sqlite:${folder.file("turnlog.db")}`;
  const begin = async (id: string, encoding: "json" | "lines"): Promise<void> => {
    await using store = await openStore(url, { encoding });
    await store.conversation(id).append("Hello");
  };
  await begin("cnv_lines", "lines");
  expect((await turnlogHere(["ls"], { cwd: folder.path })).stderr).toBe("");
  await begin("cnv_json", "json");
  const { stderr, stdout } = await turnlogHere(["ls"], { cwd: folder.path });
  expect(stdout).toMatch(/cnv_json.*\ncnv_lines/);
  expect(stderr).toMatch(/^1 of them written as json, which `turnlog erase` erases only as a whole: /);
});
