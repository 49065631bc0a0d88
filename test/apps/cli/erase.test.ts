import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as z from "zod";
import { eraseDocument } from "../../../src/apps/documents/erasing.ts";
import { createEngine, externalTool, openStore } from "../../../src/index.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { readDocument, turnlogHere } from "../../support/cli/command.ts";
import { foundIn } from "../../support/erasure/secrets.ts";
import type { Outcome } from "../../support/outcome.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

function place() {
  const { path: cwd, file } = temporaryFolder();
  const run = (...typed: readonly string[]) =>
    turnlogHere(
      typed.map((word) => word.replace(/^FILE:/, `${cwd}/`).replace(/^STORE:/, `sqlite:${cwd}/`)),
      { cwd },
    );
  return { cwd, file, run };
}

test("an erasure is shown, then done, and its receipt is checked with a key and with the store", async () => {
  const { cwd, file, run } = place();
  await run("append", "@new", "my-pin-is-7302-and-secret", "--id", "one");
  await run("append", "@new", "stays here", "--id", "two");
  await run("keys", "new", "FILE:erasure.key");
  const planned = await run("erase", "one");
  expect(planned).toMatchObject({ code: 0, stdout: "one  2 events, 0 long texts, 0 things stored by servers\n" });
  expect(planned.stderr).toContain("nothing was erased");
  expect(foundIn(cwd, ["my-pin-is-7302-and-secret"])).toHaveLength(1);
  const erased = await run(
    ..."erase one --apply --by dpo --ground gdpr-17 -o FILE:receipt.json --sign FILE:erasure.key".split(" "),
  );
  expect(erased.code).toBe(0);
  expect(erased.stderr).toContain("the signed receipt is in ");
  expect(foundIn(cwd, ["my-pin-is-7302-and-secret"])).toEqual([]);
  expect(readFileSync(file("receipt.json"), "utf8")).toMatch(/^\{ "finished": true,\n/);
  const verify = ["verify", "--receipt", "FILE:receipt.json"] as const;
  expect(await run(...verify, "--key", "FILE:erasure.key.pub")).toMatchObject({ code: 0, stderr: "" });
  expect(await run(...verify)).toMatchObject({
    code: 0,
    stderr: `the signature of ${file("receipt.json")} was not checked: give --key FILE with the public key of its signer\n`,
  });
  writeFileSync(file("changed.json"), readFileSync(file("receipt.json"), "utf8").replace('"events": 2', '"events": 3'));
  for (const key of [["--key", "FILE:erasure.key.pub"], []])
    expect(await run("verify", "--receipt", "FILE:changed.json", ...key)).toMatchObject({ code: 4, stdout: "" });
  expect((await run("verify")).stdout).toContain("all sound");
  expect((await run("show", "@last")).stdout).toContain("stays here");
  const { orders } = readDocument(eraseDocument, await run("erase", "--json"));
  expect(orders).toMatchObject([{ by: "dpo", ground: "gdpr-17", conversations: ["one"], state: "finished" }]);
});

function expectErased({ code, stderr }: Outcome): void {
  expect(code).toBe(3);
  expect(stderr).toMatch(/one was erased by the order era_\w+\n$/);
}

test("what is given away before is left over, and is not brought back", async () => {
  const { run } = place();
  await run("append", "@new", "to be forgotten", "--id", "one");
  await run("export", "one", "-o", "FILE:bundle.jsonl");
  await run("copy", "--to", "STORE:copy.db");
  await run("store", "backup", "FILE:backup.db");
  const erased = await run(..."erase one --apply --by dpo --ground gdpr-17 --json".split(" "));
  expect(erased.code).toBe(1);
  const { receipt } = readDocument(eraseDocument, { ...erased, code: 0 });
  expect(receipt?.exports.map(({ kind }) => kind)).toEqual(["bundle", "copy", "backup"]);
  expect(receipt?.exports[0]?.sha256).toMatch(/^[0-9a-f]{64}$/);
  for (const typed of [
    "import FILE:bundle.jsonl",
    "copy --from STORE:copy.db --to STORE:turnlog.db",
    "show one",
    "erase one",
  ])
    expectErased(await run(...typed.split(" ")));
  expect(await run("copy", "--to", "STORE:other.db")).toMatchObject({ code: 0 });
});

test("the plan counts the exports that the receipt leaves over, and says how many redacted ones it counts besides", async () => {
  const { run } = place();
  await run("append", "@new", "to be forgotten", "--id", "one");
  await run("export", "one", "-o", "FILE:bundle.jsonl");
  await run("copy", "--to", "STORE:copy.db");
  const erase = async (name: string, ...options: readonly string[]) =>
    (await run("erase", name, ...options)).stdout.split("\n").filter((line) => line.includes("export"));
  expect(await erase("one@1")).toEqual(["2 exports left the store before and will not change"]);
  await run("export", "one", "--redact", "-o", "FILE:redacted.jsonl");
  // As a whole it loses the facts too, which the redacted bundle has.
  expect(await erase("one")).toEqual(["3 exports left the store before and will not change"]);
  const told = "3 exports left the store before and will not change (1 redacted bundle without any of it)";
  expect(await erase("one@1")).toEqual([told]);
  expect(await erase("one@1", "--apply", "--by", "dpo", "--ground", "gdpr-17")).toEqual([
    told,
    "  left over  copies: 2 exports left the store before and may contain it: tell who holds them",
  ]);
});

test("what cannot be meant is refused, and nothing is erased", async () => {
  const { run } = place();
  await run("append", "@new", "stays", "--id", "one");
  for (const [typed, code] of [
    ["erase one --apply", 2],
    ["erase one --apply --by dpo --ground two:words", 2],
    ["erase --apply --by dpo --ground code", 2],
    ["erase one --resume era_1", 2],
    ["erase --resume era_1", 3],
    ["erase nobody", 3],
    ["erase one --apply --by dpo --ground code --sign FILE:turnlog.db", 2],
    ["verify --receipt FILE:turnlog.db", 2],
    ["verify --key FILE:a.key.pub", 2],
    ["verify --receipt FILE:a --bundle FILE:b", 2],
    ["verify one --receipt FILE:a", 2],
    ["verify --bundle FILE:b --heads FILE:c", 2],
    ["delete one", 2],
  ] as const) {
    const outcome = await run(...typed.split(" "));
    expect([typed, outcome.code, outcome.stdout]).toEqual([typed, code, ""]);
    expect(outcome.stderr).toMatch(/^turnlog: [^\n]+\n$/);
  }
  await run("keys", "new", "FILE:a.key");
  expect((await run("keys", "new", "FILE:a.key")).code).toBe(2);
  expect((await run("show", "one")).stdout).toContain("stays");
});

test("one message, one event and one text are erased, and the conversation goes on", async () => {
  const { cwd, file, run } = place();
  await run("append", "@new", "my-pin-is-7302-and-secret", "--id", "one");
  await run("append", "one", "a-second-secret-that-is-longer");
  await run("append", "one", "and a third, which stays here");
  writeFileSync(file("text"), "a-second-secret\n");
  const planned = await run("erase", "one", "--text", "FILE:text");
  expect(planned).toMatchObject({ code: 0, stdout: "one  1 line of 1 event, 1 block, 0 things stored by servers\n" });
  const why = "--apply --by dpo --ground gdpr-17".split(" ");
  expect(await run("erase", "one", "--text", "FILE:text", ...why)).toMatchObject({ code: 0 });
  expect(foundIn(cwd, ["a-second-secret-that-is-longer"])).toEqual([]);
  expect(await run("erase", "one@1", ...why)).toMatchObject({ code: 0 });
  expect(foundIn(cwd, ["my-pin-is-7302-and-secret"])).toEqual([]);
  const shown = await run("show", "one");
  expect(shown.stdout.match(/\[erased\]/g)).toHaveLength(2);
  expect(shown.stdout).toContain("and a third, which stays here");
  expect(await run("append", "one", "and it goes on")).toMatchObject({ code: 0 });
  expect((await run("verify")).stdout).toContain("all sound");
  expect((await run("log", "one")).stdout).toMatch(/1 line of 1 event erased, with 1 block, by the order era_/);
  expect(await run("erase", "one", "--text", "FILE:text")).toMatchObject({ code: 3 });
});

test("a block without its conversation, an empty text and a resumed order with a target are refused", async () => {
  const { file, run } = place();
  await run("append", "@new", "something", "--id", "one");
  writeFileSync(file("text"), "\n");
  expect(await run("erase", "--block", "blk_1", "--subject", "x")).toMatchObject({ code: 2 });
  expect(await run("erase", "one", "--text", "FILE:text")).toMatchObject({ code: 2 });
  expect(await run("erase", "--subject", "x", "--resume", "era_1")).toMatchObject({ code: 2 });
});

test("options that would be ignored are refused, and a text is not repeated in an error", async () => {
  const { file, run } = place();
  await run("append", "@new", "something of 7302", "--id", "one");
  writeFileSync(file("text"), "something of 7302\n");
  writeFileSync(file("short"), "7302\n");
  for (const [typed, words] of [
    ["erase one@1 --text FILE:text", "without a revision"],
    ["erase one --subject x", "name none"],
    ["erase --resume era_1 --stack FILE:stack.ts", "belong to a new erasure"],
    ["erase --resume era_1 --keep-stored", "belong to a new erasure"],
    ["erase --resume era_1 --vacuum", "belong to a new erasure"],
    ["erase --block blk_1", "nothing to erase is named"],
    ["erase --vacuum", "nothing to erase is named"],
    ["erase one@1..0", "goes from 1 to 0"],
  ] as const) {
    const { code, stderr } = await run(...typed.split(" "));
    expect([typed, code, stderr.includes(words)]).toEqual([typed, 2, true]);
  }
  const { code, stderr } = await run("erase", "one", "--text", "FILE:short");
  expect([code, stderr.includes("7302")]).toEqual([1, false]);
  expect(stderr).toContain("may occur by chance");
});

test("a receipt that could not be written is noticed before anything is erased", async () => {
  const { cwd, file, run } = place();
  await run("append", "@new", "my-pin-is-7302-and-secret", "--id", "one");
  writeFileSync(file("notes.txt"), "something else");
  for (const [to, code, words] of [
    ["FILE:absent/receipt.json", 3, "no such file"],
    ["FILE:notes.txt", 2, "is not a receipt of an erasure"],
    [cwd, 2, "is a folder"],
  ] as const) {
    const erased = await run(..."erase one --apply --by dpo --ground gdpr-17 -o".split(" "), to);
    expect([to, erased.code, erased.stderr.includes(words)]).toEqual([to, code, true]);
  }
  expect((await run("show", "one")).stdout).toContain("7302");
});

test.skipIf(!existsSync("/dev/full"))(
  "if the disk is full when the receipt is written, the message says that the erasure is done, and how to get one (skipped where there is no /dev/full)",
  async () => {
    const { cwd, run } = place();
    await run("append", "@new", "my-pin-is-7302-and-secret", "--id", "one");
    const erased = await run(..."erase one --apply --by dpo --ground gdpr-17 -o /dev/full".split(" "));
    expect([erased.code, foundIn(cwd, ["my-pin-is-7302-and-secret"])]).toEqual([6, []]);
    expect(erased.stdout).toContain("erased: 2 events");
    const again = /the erasure is done, and `turnlog (erase --resume era_\S+ -o) FILE` writes a receipt/.exec(
      erased.stderr,
    );
    expect(await run(...(again?.[1] ?? "").split(" "), "FILE:receipt.json")).toMatchObject({ code: 0 });
    expect(await run("verify", "--receipt", "FILE:receipt.json")).toMatchObject({ code: 0 });
  },
);

test("a receipt from before the order was continued is still one that the store recorded", async () => {
  const { run } = place();
  await run("append", "@new", "to be forgotten", "--id", "one");
  await run("export", "one", "-o", "FILE:bundle.jsonl");
  const erased = await run(..."erase one --apply --by dpo --ground gdpr-17 -o FILE:first.json".split(" "));
  const order = /order (era_[\w-]+)/.exec(erased.stdout)?.[1] ?? "";
  await run("erase", "--resume", order, "-o", "FILE:second.json");
  const first = await run("verify", "--receipt", "FILE:first.json");
  expect([first.code, first.stderr]).toEqual([
    0,
    "the order was continued since: the store has a newer receipt of it\n",
  ]);
  expect(await run("verify", "--receipt", "FILE:second.json")).toMatchObject({ code: 0, stderr: "" });
});

test("several texts are erased at once", async () => {
  const { cwd, file, run } = place();
  await run("append", "@new", "a-first-secret-of-ada", "--id", "one");
  await run("append", "one", "a-second-secret-of-ada");
  writeFileSync(file("first"), "a-first-secret");
  writeFileSync(file("second"), "a-second-secret");
  const texts = ["--text", "FILE:first", "--text", "FILE:second"];
  expect(await run("erase", ...texts, ..."--apply --by dpo --ground gdpr-17".split(" "))).toMatchObject({ code: 0 });
  expect(foundIn(cwd, ["a-first-secret-of-ada", "a-second-secret-of-ada"])).toEqual([]);
});

test("a conversation is erased with its forks and their forks, which a refusal names at once", async () => {
  const { run } = place();
  await run("append", "@new", "my-pin-is-7302-and-secret", "--id", "one");
  await run("fork", "one", "--id", "two");
  await run("fork", "two", "--id", "three");
  const refused = await run("erase", "one");
  expect([refused.code, refused.stderr]).toEqual([
    1,
    "turnlog: two, three are forks of one and would lose what came before: name them as well\n",
  ]);
  expect(await run("erase", "one", "two", "three")).toMatchObject({ code: 0 });
});

test("the log of a fork says that what it inherits was erased", async () => {
  const { file, run } = place();
  await run("append", "@new", "my-pin-is-7302-and-secret", "--id", "one");
  await run("fork", "one", "--id", "two");
  writeFileSync(file("text"), "my-pin-is-7302");
  await run(..."erase --text FILE:text --apply --by dpo --ground gdpr-17".split(" "));
  expect((await run("log", "two")).stdout).toMatch(
    / 1 block erased in conversations that share its history, by the order/,
  );
  expect((await run("log", "one")).stdout).toMatch(/ 1 line of 1 event erased, with 1 block, by the order/);
});

test("why says that content of a request was erased, and does not suspect a missing codec", async () => {
  const { file, run } = place();
  {
    await using store = await openStore(`sqlite:${file("turnlog.db")}`);
    const conversation = store.conversation("one");
    const engine = createEngine({ provider: scripted([{ text: "First." }, { text: "Second." }]) });
    for (const said of ["Find the late orders.", "And now?"]) {
      await conversation.append(said);
      await conversation.run(engine);
    }
  }
  expect(await run("why", "one")).toMatchObject({ code: 0, stderr: "" });
  const erased = await run(..."erase one@1 --apply --by dpo --ground gdpr-17 --keep-stored".split(" "));
  expect(erased).toMatchObject({ code: 0, stderr: "" });
  expect((await run("why", "one")).stderr).toBe("the size of the whole request is unknown: content of it was erased\n");
});

test("a plan says how to erase what repeats a part, and a run that has not ended is cancelled first", async () => {
  const { file, run } = place();
  const said = "my number is 555-0199 and my street is the long avenue";
  await run("append", "@new", said, "--id", "one");
  await run("append", "one", `you said: ${said}`);
  const planned = await run("erase", "one@1");
  expect(planned.stdout).toMatch(/not erased, but says parts of it: one@2, block blk_\S+\n/);
  expect(planned.stderr).toContain(
    "`turnlog erase CONVERSATION --block ID` erases one of those that say parts of it\n",
  );
  {
    await using store = await openStore(`sqlite:${file("turnlog.db")}`);
    const provider = scripted([{ calls: [{ name: "wait", arguments: {} }] }]);
    const wait = externalTool({ name: "wait", description: "Waits", inputSchema: z.object({}) });
    await store.conversation("one").run(createEngine({ provider, tools: [wait] }));
  }
  const refused = await run("erase", "one@1");
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("or end it with `turnlog cancel`, then")]);
  expect(await run("cancel", "one")).toMatchObject({ code: 0 });
  expect(await run("erase", "one@1")).toMatchObject({ code: 0 });
});
