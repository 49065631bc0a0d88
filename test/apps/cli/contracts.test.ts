import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import type { CommandCode } from "../../../src/apps/cli/command.ts";
import { commandsByName } from "../../../src/apps/cli/command-list.ts";
import { createContext } from "../../../src/apps/cli/context.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { documentOf, turnlogHere } from "../../support/cli/command.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import { refunds } from "../../support/run/approvals.ts";
import { calling } from "../../support/run/tool-runs.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const demoStore = useDemoStore();

/** What is typed at a store that holds a demo: every command with what changes its document. */
const lines = {
  demo: ["demo"],
  rehearse: ["rehearse --generate a --limit 1"],
  // It goes on until it is interrupted: a test of its process reads its document.
  "reference-server": [],
  studio: [],
  // It prints a document for each answer: its own test reads them.
  chat: [],
  run: ["run @new Hello --id cnv_run --config ASKING"],
  ls: ["ls", "ls -n 0 --all", "ls --waiting"],
  bill: [
    "bill",
    "bill DEMO cnv_fork --by conversation",
    "bill --by run --since 2026-01-01T12:30",
    "bill --by label:user --prices FILE:prices.json --price-as demo=gpt-5.4",
  ],
  cache: ["cache --all", "cache DEMO --since 2026-01-01 --prices FILE:prices.json --price-as demo=gpt-5.4"],
  log: [
    "log DEMO",
    "log DEMO@10..12",
    "log DEMO@22..24 --patch",
    "log DEMO --transcript",
    "log DEMO -n 3 --reverse --actor middleware",
    "log DEMO --grep Atlantis",
    "log cnv_fork",
    "log cnv_fork --transcript",
  ],
  cat: ["cat DEMO@12", "cat DEMO@24 --full"],
  append: ["append DEMO Hello --key m1", "append @new Hello --as system --id cnv_new"],
  rename: ["rename DEMO Rome"],
  label: ["label DEMO user=ann --remove draft", "label DEMO"],
  revert: ["revert DEMO@24", "revert DEMO --exchange 1"],
  "reset-reasoning": ["reset-reasoning DEMO", "reset-reasoning cnv_fork"],
  hide: ["hide DEMO"],
  unhide: ["unhide DEMO"],
  search: ["search train", "search Rome -n 1", "search Atlantis"],
  show: ["show DEMO", "show DEMO@24", "show DEMO@39", "show cnv_fork", "show cnv_waits"],
  diff: ["diff DEMO@20..36", "diff DEMO@22..23", "diff DEMO cnv_fork"],
  compare: ["compare DEMO cnv_fork", "compare cnv_fork cnv_fork"],
  blame: ["blame DEMO", "blame DEMO 5", "blame DEMO@39", "blame DEMO@41", "blame cnv_fork"],
  request: ["request DEMO@24", "request DEMO --pretty"],
  why: [
    "why DEMO",
    "why DEMO@24 --prices FILE:prices.json --price-as demo=gpt-5.4",
    "why DEMO@24",
    "why DEMO@47",
    "why DEMO@47 --reasoning",
  ],
  fork: ["fork DEMO@24 --id cnv_other"],
  resume: ["resume DEMO --abandon"],
  approve: [
    "approve cnv_waits CALL --as ann",
    "approve cnv_waits CALL --as ann --input FILE:input.json --message less",
  ],
  deny: ["deny cnv_waits CALL --as ann --message no"],
  cancel: ["cancel DEMO --reason late --wait 0"],
  skip: ["skip cnv_fork@0 --reason unreadable"],
  verify: ["verify", "verify cnv_fork --save-heads FILE:heads.txt"],
  replay: ["replay DEMO", "replay DEMO --to 30"],
  regress: ["regress DEMO --stack STACK --without redact-emails --prices FILE:prices.json --price-as demo=gpt-5.4"],
  "projections status": ["projections", "projections status usage"],
  "projections rebuild": ["projections rebuild"],
  "projections quarantine": ["projections quarantine"],
  "projections retry": ["projections retry", "projections retry DEMO"],
  import: ["import FILE:talks.jsonl", "import FILE:bundle.jsonl --store sqlite:FILE:new.db"],
  export: [
    "export DEMO -o FILE:out.jsonl",
    "export DEMO -o FILE:out.jsonl --redact",
    "export DEMO --otlp FILE:spans.json",
  ],
  copy: ["copy --to memory:"],
  erase: ["erase cnv_fork", "erase cnv_fork --apply --by dpo --ground gdpr-17 -o FILE:receipt.json", "erase"],
  "keys new": ["keys new FILE:erasure.key"],
  config: ["config"],
  completion: ["completion bash", "completion zsh", "completion fish"],
  "store init": ["store init --print --store postgres://host/app?schema=other"],
  // It asks a server: the test of Postgres reads its document.
  "store migrate": [],
  "store grants": ["store grants --writer app --reader auditor --print --store postgres://host/app"],
  "store backup": ["store backup FILE:other.db"],
  "store restore": ["store restore FILE:backup.db --store sqlite:FILE:new.db"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

test("every command is among them", () => {
  expect(Object.keys(lines).toSorted()).toEqual([...commandsByName.keys()].toSorted());
});

const cases = Object.entries(lines).flatMap(([name, typed]) => typed.map((line) => [line, name] as const));

test.each(cases)("%s --json prints one document of its contract, and nothing else", async (line, name) => {
  const { stdout } = await asJson(line);
  expect(stdout.split("\n").length, "one line").toBe(2);
  const { document } = await codeOf(name);
  const parsed = z.strictObject({ version: z.literal(1), data: document }).safeParse(JSON.parse(stdout));
  expect(parsed.error === undefined ? "" : z.prettifyError(parsed.error)).toBe("");
});

test.each(cases.filter(([, name]) => !["demo", "rehearse"].includes(name)))(
  "%s prints a text that can be made of that document alone",
  async (line, name) => {
    const told = await run(line);
    const document = z.looseObject({ data: z.unknown() }).parse(JSON.parse((await asJson(line)).stdout)).data;
    const rendered: string[] = [];
    const stdout = { write: (text: string) => rendered.push(text) };
    const screen = createContext({}, { stdout, stderr: { write: () => true }, env: {} });
    const words = line.split(" ").slice(name.split(" ").length);
    const options = Object.fromEntries(
      words.filter((word) => word.startsWith("--")).map((word) => [word.slice(2), true]),
    );
    (await codeOf(name)).render(document, screen, { arguments: words, options });
    const everywhere = (text: string): string =>
      text.replaceAll(/\S*turnlog-\w{6}/g, "FOLDER").replaceAll(/era_\w+/g, "ORDER");
    expect(everywhere(rendered.join(""))).toBe(everywhere(told.stdout));
  },
);

test("verify --json names what is damaged", async () => {
  const { path: cwd, file } = demoStore();
  const database = new DatabaseSync(file("turnlog.db"));
  database.exec("UPDATE events SET data = replace(data, 'Aurora', 'Bellini') WHERE revision = 28");
  database.close();
  const outcome = await turnlogHere(["verify", "--json"], { cwd });
  expect(outcome.code).toBe(4);
  expect(documentOf(outcome)).toMatchObject({ data: { problems: [{ revision: 28, kind: "chain" }] } });
});

async function codeOf(name: string): Promise<CommandCode> {
  const definition = commandsByName.get(name);
  if (definition === undefined) throw new Error(`there is no command ${name}`);
  return definition.load();
}

const prepared = mkdtempSync(join(tmpdir(), "turnlog-"));
afterAll(() => {
  rmSync(prepared, { recursive: true, force: true });
});
let demoId = "";
let waitingCall = "";

/** A demo, a fork of it, and files to read beside them. */
beforeAll(async () => {
  const file = (name: string) => join(prepared, name);
  const here = (typed: string) => turnlogHere(typed.split(" "), { cwd: prepared });
  const { data } = demoDocument.parse(documentOf(await here("demo --json")));
  demoId = data.conversation;
  await here(`fork ${demoId}@24 --id cnv_fork`);
  waitingCall = await leaveWaiting(file("turnlog.db"));
  writeFileSync(file("input.json"), '{"amount":3}');
  await here("projections rebuild");
  await here(`export cnv_fork -o ${file("bundle.jsonl")}`);
  await here(`store backup ${file("backup.db")}`);
  const talk = { id: "one", messages: [{ role: "user", content: "Hello" }] };
  writeFileSync(file("prices.json"), JSON.stringify({ "gpt-5.4": { litellm_provider: "openai" } }));
  writeFileSync(file("talks.jsonl"), `${JSON.stringify(talk)}\nno json\n`);
});

/** A conversation with a call that waits for approval. */
async function leaveWaiting(path: string): Promise<string> {
  await using store = await openStore(`sqlite:${path}`);
  const conversation = store.conversation("cnv_waits");
  await conversation.append("hello");
  const provider = scripted([calling(["refund", '{"amount":5}'])]);
  const { waitingFor } = await conversation.run(createEngine({ provider, tools: [refunds().tool] }));
  return waitingFor[0]?.blockId ?? "";
}

const demoDocument = z.looseObject({ data: z.looseObject({ conversation: z.string() }) });

/** What a line prints as JSON: run once, for both tests of it. */
function asJson(line: string): ReturnType<typeof run> {
  const known = printedAsJson.get(line) ?? run(line, "--json");
  printedAsJson.set(line, known);
  return known;
}
const printedAsJson = new Map<string, ReturnType<typeof run>>();

/** Runs a line in a new copy of them. */
async function run(line: string, ...more: readonly string[]) {
  const { path: cwd, file } = temporaryFolder();
  cpSync(prepared, cwd, { recursive: true });
  if (line.startsWith("skip")) {
    const database = new DatabaseSync(file("turnlog.db"));
    database.exec("UPDATE events SET version = 9 WHERE stream = 2 AND revision = 0");
    database.close();
  }
  const stack = join(import.meta.dirname, "../../support/cli/demo-stack.ts");
  const typed = line
    .replaceAll("STACK", stack)
    .replaceAll("ASKING", join(import.meta.dirname, "../../support/cli/asking-stack.ts"))
    .replaceAll("FILE:", `${cwd}/`)
    .replaceAll("DEMO", demoId)
    .replaceAll("CALL", waitingCall)
    .split(" ");
  const outcome = await turnlogHere([...typed, ...more], { cwd });
  expect(outcome, line).not.toMatchObject({ code: 2 });
  return outcome;
}
