import { copyFileSync } from "node:fs";
import { expect, test } from "vitest";
import { startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { chatCompletions } from "../../../src/providers/chat/chat-completions.ts";
import { documentOf, turnlogHere } from "../../support/cli/command.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

/** They read sums over all conversations; `why` for the first request of an endpoint. */
const lines = [["why", "cnv_second"], ["cache", "--all"], ["bill"]] as const;

/** Makes copies of a store with two conversations of the same settings, which no command has looked at. */
async function createCopies(): Promise<() => string> {
  const original = temporaryFolder().file("turnlog.db");
  await using server = await startReferenceServer();
  await using store = await openStore(`sqlite:${original}`);
  const at = { model: "gpt-5.4", apiKey: "none", baseURL: server.baseUrl, instructions: "Be brief." };
  for (const name of ["first", "second"]) {
    const conversation = store.conversation(`cnv_${name}`);
    await conversation.append("Where is it warm?");
    await conversation.run(createEngine({ provider: chatCompletions(at) }));
  }
  return () => {
    const { path, file } = temporaryFolder();
    copyFileSync(original, file("turnlog.db"));
    return path;
  };
}

/** A clock on which each reading is this much later. */
function clockOf(stepMs: number) {
  let now = 0;
  return {
    now() {
      now += stepMs;
      return now;
    },
  };
}

test("why, cache and bill show how many events they have read once that takes a second, on stderr alone", async () => {
  const copy = await createCopies();
  for (const line of lines) {
    const shown = await turnlogHere([...line, "--json"], { cwd: copy(), errors: clockOf(1_000) });
    expect([line[0], shown.code, shown.stderr]).toEqual([line[0], 0, "\r\u001b[Kevents read 14\r\u001b[K"]);
    expect(documentOf(shown)).toMatchObject({ version: 1 });
  }
});

test("they show nothing if it takes less, if stderr is no terminal, and with --quiet", async () => {
  const copy = await createCopies();
  const stderrOf = async (line: readonly string[], errors?: { readonly now: () => number }): Promise<string> =>
    (await turnlogHere(line, { cwd: copy(), ...(errors === undefined ? {} : { errors }) })).stderr;
  for (const line of lines) {
    const shown = [
      await stderrOf(line, clockOf(999)),
      await stderrOf(line),
      await stderrOf([...line, "--quiet"], clockOf(1_000)),
    ];
    expect(shown.filter((text) => text.includes("events read"))).toEqual([]);
  }
});
