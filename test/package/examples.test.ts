import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { root } from "../support/package/consumer.ts";
import { entryNames } from "../support/package/entries.ts";
import { commandFile, outcomeOf, outputOf } from "../support/process.ts";

/** Something that each example says when it does what it is there to show. */
const saysByExample: Readonly<Record<string, RegExp>> = {
  "agent.ts":
    /^asked the model: full, chained, chained\nThere is no coffee.*\nanswered before: .*\nThere is no coffee.*\nordered: 2 tea\n$/,
  "audit.ts": /@\d+ sent \d+ bytes, sha256 [0-9a-f]{64}: \{[\s\S]*requests verified: all sound\n$/,
  "conditional.ts": /^the model was told: Offer an account\.\nthe model was told: Be brief\.\n\nGreet by name\.\n$/,
  "recover.ts": /^completed: I cannot answer at the moment\..*\ncompleted: It is sunny\.\n$/,
  "content-filter.ts":
    /^What shall I buy\? → Buy bread\. Or try the …\.\nMy password is 1234\. → I cannot talk about that\.\nrequests that were sent: 1\n$/,
  "answer-cache.ts":
    /^the first visitor reads: We are open.* \(1 requests\)\nthe second visitor reads: We are open.* \(0 requests\)\nin the store: turnlog:…\n$/,
  "redact.ts":
    /^the tool writes to: ada@example\.com\nthe user reads: I wrote to ada@example\.com\.\nthe model read: .*I am \[email-\w+\], customer \[customer-\w+\]\..*\nrefused: content-blocked\nrequests that were sent: 2\n$/,
  "fall-back.ts":
    /^(It is sunny\. \(.* asked 2 times\)\n){2}server-error: "retried"\nserver-error: \{"route":"second"\}\ncircuit-open: \{"route":"second"\}\n$/,
  "mcp.ts": /^completed Paid 5\.\nparked {2}doubt: bank_pay\nPaid 500\.\n$/,
  "own-provider.ts": /^It is "sunny" in Paris\. 18 tokens read\n2 requests verified: all sound\n$/,
  "killed.ts":
    /^the first program ended by SIGKILL, with 1 payment\nInvoice 2026-117 is paid\. \(1 payment, this program asked the model 1 time\)\n$/,
  "tracing.ts":
    /^invoke_agent guide .*\n {2}step 1 .*\n {4}chat scripted .*\n {4}execute_tool weather .*\n {2}step 2 .*\n {4}chat scripted .*\n$/,
  "redact-emails.ts":
    /the user reads: {2}Yes: to ada@example\.com, not to bob@example\.com\..*\n(?!.*@example).*<email-2>.*\n.* chained\n/,
};

const examples = (await readdir(join(root, "examples"))).filter((name) => name.endsWith(".ts"));

/** Packages of the programs that use turnlog. */
const besides = /^(zod|@opentelemetry\/(api|sdk-trace)|@modelcontextprotocol\/.*)$/;

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "turnlog-examples-"));
  // What `npm start` leaves, which examples look at.
  await outputOf([commandFile, "demo"], { cwd: folder });
});
afterAll(() => rm(folder, { recursive: true }));

test.each(examples)("the example %s runs unchanged, without a key", async (example) => {
  const env = { ...process.env, OPENAI_API_KEY: undefined, NO_COLOR: "1" };
  const outcome = await outcomeOf(process.execPath, [join(root, "examples", example)], { cwd: folder, env });
  expect(outcome).toMatchObject({ code: 0, stderr: "" });
  expect(outcome.stdout).toMatch(saysByExample[example] ?? "an entry in saysByExample");
});

test.each(examples)(
  "the example %s imports nothing but Node, the package and what is installed beside it",
  async (example) => {
    const code = await readFile(join(root, "examples", example), "utf8");
    const imported = [...code.matchAll(/ from "(?!node:)([^"]*)";$/gm)].map(([, name = ""]) => name);
    expect(imported.filter((name) => entryNames.has(name)).length).toBeGreaterThan(0);
    expect(imported.filter((name) => !entryNames.has(name) && !besides.test(name))).toEqual([]);
  },
);
