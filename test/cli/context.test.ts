import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { openStore } from "../../src/open-store.ts";
import { turnlogHere } from "../support/cli/command.ts";
import { engine } from "../support/cli/context-stack.ts";
import { temporaryFolder } from "../support/stores/temporary-folder.ts";

const stack = join(import.meta.dirname, "../support/cli/context-stack.ts");

afterEach(() => {
  vi.unstubAllEnvs();
});

test("replay --stack gives layers the context that the file exports, and says so where it exports none", async () => {
  const { path: cwd, file } = temporaryFolder();
  const store = await openStore(`sqlite:${file("turnlog.db")}`);
  const conversation = store.conversation();
  await conversation.append("Who am I?");
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
