import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { openStore } from "../../../src/conversation/open-store.ts";
import { interceptedBy } from "../../../src/engine/run/run-options.ts";
import type { Interceptor } from "../../../src/engine/session/breakpoint.ts";
import { turnlogHere } from "../../support/cli/command.ts";
import { engine } from "../../support/cli/context-stack.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { rejectionOf } from "../../support/workshop.ts";

const stack = join(import.meta.dirname, "../../support/cli/context-stack.ts");

const containing = (text: string): unknown => expect.stringContaining(text);

afterEach(() => {
  vi.unstubAllEnvs();
});

test("replay --stack gives layers the context that the file exports, and says so where it exports none", async () => {
  const { path: cwd, file } = temporaryFolder();
  const store = await openStore(`sqlite:${file("turnlog.db")}`);
  const conversation = store.conversation();
  await conversation.append("Who am I?");
  await conversation.relabel({ labels: { user: "Ann" } });
  await conversation.run(engine, { context: { user: "Ann" } });
  await store.close();
  for (const how of [
    ["--stack", stack],
    ["--with", stack],
  ])
    expect(await turnlogHere(["replay", "@last", ...how], { cwd })).toMatchObject({ code: 0, stderr: "" });
  vi.stubEnv("WITHOUT_CONTEXT", "1");
  const outcome = await turnlogHere(["replay", "@last", "--stack", stack], { cwd });
  expect(outcome.code).not.toBe(0);
  expect(outcome.stderr).toContain(
    "began with a context, which is not in the log: to replay it, give the context again",
  );
});

test("a context that the file exports as a function is made for each run, by the labels of its conversation", async () => {
  const { path: cwd, file } = temporaryFolder();
  const says = async (id: string): Promise<unknown> => {
    const { stdout } = await turnlogHere(["request", id, "--json"], { cwd });
    return stdout;
  };
  const store = await openStore(`sqlite:${file("turnlog.db")}`);
  for (const [id, user] of [
    ["cnv_ann", "Ann"],
    ["cnv_bob", "Bob"],
    ["cnv_eve", null],
  ] as const) {
    const conversation = store.conversation(id);
    await conversation.append("Who am I?");
    await conversation.relabel({ labels: { user } });
    let appends = 0;
    const cutOff: Interceptor = async ({ kind }) => {
      if (kind === "append") appends += 1;
      if (appends > 1) throw new Error("the process is gone");
      return null;
    };
    await rejectionOf(conversation.run(engine, interceptedBy(cutOff, { context: { user: user ?? "Eve" } })));
  }
  await store.close();
  const one = await turnlogHere(["resume", "cnv_ann", "--stack", stack], { cwd });
  expect(one, one.stderr).toMatchObject({ code: 0, stdout: containing("Hello") });
  const all = await turnlogHere(["resume", "--all", "--stack", stack], { cwd });
  expect(all).toMatchObject({ code: 1, stderr: containing("cnv_eve: the context of run_") });
  expect(all.stderr).toContain("cannot be made: it has no user");
  await turnlogHere(["run", "cnv_bob", "And now?", "--stack", stack], { cwd });
  for (const [id, user] of [
    ["cnv_ann", "Ann"],
    ["cnv_bob", "Bob"],
  ] as const) {
    expect(await says(id)).toContain(`You talk to ${user}.`);
    for (const how of ["--stack", "--with"])
      expect(await turnlogHere(["replay", id, how, stack], { cwd }), `${id} ${how}`).toMatchObject({ code: 0 });
  }
});
