import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as z from "zod";
import { Inbox } from "../../../src/apps/studio/inbox-list.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { externalTool } from "../../../src/engine/ports/tool.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { documentOf, turnlogHere } from "../../support/cli/command.ts";
import { refunds } from "../../support/run/approvals.ts";
import { calling } from "../../support/run/tool-runs.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

/** A store with a conversation whose call waits. */
async function waiting(clock: () => number = Date.now) {
  const { path: cwd, file } = temporaryFolder();
  await using store = await openStore(`sqlite:${file("turnlog.db")}`, { clock });
  const conversation = store.conversation("cnv_waits");
  await conversation.append("hello");
  const { tool } = refunds({ needsApproval: { reason: "checked", expiresInMs: 60_000 } });
  const provider = scripted([calling(["refund", '{"amount":5}'])]);
  const { waitingFor } = await conversation.run(createEngine({ provider, tools: [tool], clock }));
  const call = waitingFor[0]?.blockId ?? "";
  return { call, file, turnlog: (...words: readonly string[]) => turnlogHere(words, { cwd }) };
}

test("a call is found by ls --waiting and show, and decided once", async () => {
  const { call, turnlog } = await waiting();
  expect((await turnlog("ls", "--waiting")).stdout).toContain(`cnv_waits ${call} refund: approval since `);
  expect((await turnlog("ls", "--waiting", "external")).stderr).toContain("no conversation matches");
  expect((await turnlog("show", "cnv_waits")).stdout).toContain(`approve cnv_waits ${call} --as NAME`);
  expect(await turnlog("approve", "cnv_waits", call, "--as", "ann")).toMatchObject({
    code: 0,
    stdout: `${call}  approved\n`,
  });
  expect(documentOf(await turnlog("approve", "cnv_waits", call, "--as", "bob", "--json"))).toMatchObject({
    data: { call, how: "approve", isNew: false, waitingFor: [] },
  });
  expect(await turnlog("deny", "cnv_waits", call, "--as", "bob")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("approved by operator ann") as string,
  });
  expect((await turnlog("ls", "--waiting")).stdout).toBe("");
});

test("what cannot be decided exits as its kind says", async () => {
  const { call, turnlog, file } = await waiting();
  writeFileSync(file("input.json"), '{"amount":900}');
  writeFileSync(file("broken.json"), "{");
  const as = ["--as", "ann"];
  expect(await turnlog("deny", "cnv_waits", "refund", ...as)).toMatchObject({ code: 3 });
  expect(await turnlog("approve", "cnv_waits", call)).toMatchObject({ code: 2 });
  expect(await turnlog("approve", "cnv_waits", call, ...as, "--input", file("input.json"))).toMatchObject({ code: 2 });
  expect(await turnlog("approve", "cnv_waits", call, ...as, "--input", file("broken.json"))).toMatchObject({ code: 2 });
  expect(await turnlog("approve", "cnv_waits", call, ...as, "--input", file("none.json"))).toMatchObject({ code: 3 });
  const late = await waiting(() => Date.now() - 120_000);
  expect(await late.turnlog("approve", "cnv_waits", late.call, ...as)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("counts as denied since") as string,
  });
});

test("the result of an external tool's call is appended by the name of the tool, once", async () => {
  const { path: cwd, file } = temporaryFolder();
  const locate = externalTool({
    ...{ name: "locate", description: "Asks where the user is.", inputSchema: z.object({}) },
    reason: "the browser says where it is",
  });
  const { tool: refund } = refunds();
  const tools = [locate, refund];
  const calls = calling(["locate", "{}", "c1"], ["refund", '{"amount":5}', "c2"]);
  const engine = createEngine({ provider: scripted([calls, "You are in Ghent."]), tools });
  const url = `sqlite:${file("turnlog.db")}`;
  const turnlog = (...words: readonly string[]) => turnlogHere(words, { cwd });
  const answer = ["append", "cnv_waits", "Ghent", "--as", "tool", "--call"] as const;
  {
    await using store = await openStore(url);
    const conversation = store.conversation("cnv_waits");
    await conversation.append("Where am I?");
    expect((await conversation.run(engine)).waitingFor.map(({ kind }) => kind).toSorted()).toEqual([
      "approval",
      "external",
    ]);
  }
  const said = "the browser says where it is";
  expect((await turnlog("ls", "--waiting", "external")).stdout).toMatch(
    new RegExp(`locate: external since .*: ${said}`),
  );
  expect((await turnlog("show", "cnv_waits")).stdout).toContain(`waits for a result from outside: ${said}`);
  expect((await turnlog("log", "cnv_waits")).stdout).toContain(`locate waits to be settled: ${said}`);
  {
    await using store = await openStore(url);
    const { items } = await new Inbox(store.events).document();
    expect(items.map(({ kind, words }) => [kind, words])).toEqual([
      ["approval", ""],
      ["external", said],
    ]);
  }
  // A call that waits for approval is decided, and not answered.
  expect(await turnlog(...answer, "refund")).toMatchObject({ code: 3 });
  expect(await turnlog(...answer, "locate", "--json")).toMatchObject({ code: 0 });
  expect(await turnlog(...answer, "locate")).toMatchObject({ code: 3 });
  await using store = await openStore(url);
  const conversation = store.conversation("cnv_waits");
  const { waitingFor } = await conversation.run(engine);
  for (const { blockId } of waitingFor) await conversation.deny(blockId, { actor: { kind: "user", name: "ann" } });
  const { text, blocks } = await conversation.run(engine);
  expect(text).toBe("You are in Ghent.");
  expect(blocks.map((block) => block.text)).toContain("Ghent");
});
