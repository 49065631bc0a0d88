import { expect, test } from "vitest";
import { explainReasoning } from "../../../src/analysis/explain/reasoning-report.ts";
import { findRecordedRequest } from "../../../src/apps/cli/find.ts";
import { whyDocument } from "../../../src/apps/documents/requests.ts";
import { reasoningDocumentOf } from "../../../src/apps/documents/why-document.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { readDocument, turnlogHere } from "../../support/cli/command.ts";
import type { Outcome } from "../../support/outcome.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { countingLog } from "../../support/studio/counting-log.ts";

const shout = defineMiddleware(
  { name: "shout", version: "1.0.0" },
  (next) => (turn) => next(turn.replaceEach(turn.blocks.slice(0, 1), (block) => block.withText("ONE"))),
);

/** A store in which a layer changed what the first answer's reasoning was made from. */
async function storeWithReasoning(): Promise<string> {
  const { path, file } = temporaryFolder();
  await using store = await openStore(`sqlite:${file("turnlog.db")}`);
  const conversation = store.conversation("cnv_thinking");
  const provider = scripted([{ reasoning: "Let me see.", text: "first" }, "second"]);
  await conversation.append("one");
  await conversation.run(createEngine({ provider }));
  await conversation.append("two");
  await conversation.run(createEngine({ provider, middleware: [shout] }));
  return path;
}

test("why --reasoning says what became of each block, who broke what it was made from, and what it costs", async () => {
  const cwd = await storeWithReasoning();
  const { stdout, code } = await turnlogHere(["why", "cnv_thinking", "--reasoning"], { cwd });
  expect(code).toBe(0);
  expect(stdout).toContain("Reasoning: 1 withheld");
  expect(stdout).toMatch(/ {2}1 +reasoning +prefix broken +withheld \(prefix\) +0 min old +Let me see\./);
  expect(stdout).toContain("block 1: shout@1.0.0 modified block 0");
  expect(stdout).toContain("block 1: the server did not say that it withheld it");
  expect(stdout).toMatch(
    /carried: [\d,]+ of [\d,]+ bytes sent, [\d,]+ of [\d,]+ bytes when everything is sent; made for/,
  );
});

test("its document says the same, and has no reasoning unless asked for", async () => {
  const cwd = await storeWithReasoning();
  const asked = ["why", "cnv_thinking", "--json"];
  const { reasoning } = readDocument(whyDocument, await turnlogHere([...asked, "--reasoning"], { cwd }));
  expect(reasoning).toMatchObject({
    told: [],
    blocks: [{ index: 1, prefix: "broken", fate: "withheld", reason: "prefix", withheld: null, isSurprise: true }],
  });
  expect(readDocument(whyDocument, await turnlogHere(asked, { cwd }))).not.toHaveProperty("reasoning");
});

test("a conversation without reasoning says so", async () => {
  const cwd = await storeWithReasoning();
  const { stdout } = await turnlogHere(["why", "cnv_thinking@5", "--reasoning"], { cwd });
  expect(stdout).toContain("Reasoning: none");
});

test("reset-reasoning is an operator's decision in the log, and done once", async () => {
  const cwd = await storeWithReasoning();
  const reset = (): Promise<Outcome> => turnlogHere(["reset-reasoning", "cnv_thinking"], { cwd });
  expect((await reset()).stdout).toBe(
    "turnlog will not send 1 reasoning block of cnv_thinking again, and will not continue from a response that holds it\n",
  );
  const log = async (): Promise<string> => (await turnlogHere(["log", "cnv_thinking"], { cwd })).stdout;
  const before = await log();
  expect(before).toMatch(/operator +1 reasoning block not sent again: reset/);
  await reset();
  expect((await log()).match(/not sent again/g)).toHaveLength(1);
});

test("of a request that was found, its reasoning is told without another fold for what is skipped", async () => {
  await using store = await openStore(`sqlite:${await storeWithReasoning()}/turnlog.db`);
  const { request, skipped } = await findRecordedRequest(store, "cnv_thinking", { codecs, orBefore: true });
  const { stream, revision } = request.recorded;
  const counting = countingLog(store);
  await explainReasoning(counting.log, { stream, revision, orBefore: false, codecs, skipped });
  const needed = counting.read;
  counting.read = 0;
  await reasoningDocumentOf(counting, request, skipped);
  expect(needed).toBeGreaterThan(0);
  expect(counting.read).toBe(needed);
});
