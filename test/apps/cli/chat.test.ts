import { join } from "node:path";
import { expect, test } from "vitest";
import { openStore } from "../../../src/conversation/open-store.ts";
import type { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { turnlogHere } from "../../support/cli/command.ts";
import { turnlogAtTerminal } from "../../support/cli/fake-terminal.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const config = join(import.meta.dirname, "../../support/cli/asking-stack.ts");

/** A folder for a store, and ways to ask there with the engines of `asking-stack.ts`. */
function asking() {
  const { path: cwd, file } = temporaryFolder();
  const looking = async <Found>(look: (store: TurnlogStore) => Promise<Found>): Promise<Found> => {
    await using store = await openStore(`sqlite:${file("turnlog.db")}`);
    return await look(store);
  };
  return {
    looking,
    piped: (words: string, stdin = "") =>
      turnlogHere(words.split(" "), { cwd, stdin, env: { TURNLOG_CONFIG: config } }),
    typed: (words: string) => turnlogAtTerminal(words.split(" "), { cwd, config }),
    turn: (id: string) =>
      looking(async (store) => (await store.conversation(id).turn()).blocks.map(({ kind, text }) => `${kind} ${text}`)),
  };
}

const ctrlC = "\u0003";
const ctrlD = "\u0004";

test("through a pipe each line is a message, and stdout has the answers only", async () => {
  const { piped, turn } = asking();
  const outcome = await piped("chat --id cnv_a --as ann", "Hi\n\nThanks\n");
  expect(outcome).toMatchObject({ code: 0, stdout: "Hello.\nYou are welcome.\n" });
  expect(outcome.stderr).toMatch(/^a new store was made: sqlite:.*\nconversation cnv_a\n$/);
  expect(await turn("cnv_a")).toEqual(["user Hi", "assistant Hello.", "user Thanks", "assistant You are welcome."]);
});

test("a later chat goes on with the conversation, and --json prints a document for each answer", async () => {
  const { piped, turn } = asking();
  await piped("chat --id cnv_a", "Hi");
  const { code, stdout } = await piped("chat cnv_a --json -q", "And now?\n");
  expect(code).toBe(0);
  const documents = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
  expect(documents).toMatchObject([
    { version: 1, data: { conversation: "cnv_a", status: "completed", text: "You are welcome." } },
  ]);
  expect(await turn("cnv_a")).toHaveLength(4);
});

test("through a pipe a call that needs approval ends the chat, says how to decide, and the next chat goes on", async () => {
  const { piped, turn } = asking();
  const waits = await piped("chat --id cnv_a --stack refund", "Refund it.\nThanks\n");
  expect(waits.code).toBe(1);
  const [, call = ""] = /approve cnv_a (\S+) --as NAME/.exec(waits.stdout) ?? [];
  expect(call).toMatch(/^run_/);
  expect(await turn("cnv_a")).toEqual(["user Refund it."]);
  const approved = await piped(`approve cnv_a ${call} --as ann`);
  expect(approved).toMatchObject({ code: 0, stderr: expect.stringContaining("run cnv_a` goes on with it") as string });
  const goesOn = await piped("chat cnv_a --stack refund", "");
  expect(goesOn).toMatchObject({ code: 0, stdout: expect.stringContaining("Done.") as string });
  expect(goesOn.stderr).toContain("has not ended: it goes on");
  expect(await turn("cnv_a")).toHaveLength(4);
});

test("a failed answer ends a pipe with exit code 1; what follows is not sent", async () => {
  const { piped, turn } = asking();
  const { code, stderr } = await piped("chat --id cnv_a --stack none", "Hi\nAgain\n");
  expect(code).toBe(1);
  expect(stderr).toContain("failed");
  expect(await turn("cnv_a")).toEqual(["user Hi"]);
});

test("at a terminal a person approves, and the log names them", async () => {
  const { typed, looking } = asking();
  const chat = typed("chat --id cnv_a --stack refund --as ann");
  await chat.readTo(/you> /);
  chat.type("Refund it.\n");
  expect(await chat.readTo(/approve\?.*: /)).toContain('refund {"amount":250}\n  reason: refunds are checked');
  chat.type("what\n");
  await chat.readTo(/Type y, n or e.*approve\?[^\n]*: /s);
  chat.type("y\n");
  await chat.readTo(/Done\.\n.*you> /s);
  chat.type(ctrlD);
  expect(await chat.code).toBe(0);
  const decided = await looking(async (store) => {
    for await (const { event, actor } of store.conversation("cnv_a").events())
      if (event.type === "ApprovalDecided") return { how: event.data.how, actor };
    return null;
  });
  expect(decided).toMatchObject({ how: "approve", actor: { kind: "operator", name: "ann" } });
});

test("a person denies with a reason, or edits the arguments until the tool takes them", async () => {
  const { typed, turn } = asking();
  const denying = typed("chat --id cnv_a --stack refund");
  await denying.readTo(/you> /);
  denying.type("Refund it.\n");
  await denying.readTo(/approve\?.*: /);
  denying.type("n ask the shop first\n");
  expect(await denying.readTo(/Done\./)).toMatch(/^ {2}denied: ask the shop first$/m);
  denying.type(ctrlD);
  expect(await denying.code).toBe(0);
  expect((await turn("cnv_a"))[2]).toBe("tool_result denied: ask the shop first");

  const editing = typed("chat --id cnv_b --stack refund");
  await editing.readTo(/you> /);
  editing.type("Refund it.\n");
  await editing.readTo(/approve\?.*: /);
  editing.type("e\n");
  await editing.readTo(/arguments: .*250/);
  editing.type("\u0015\n");
  await editing.readTo(/approve\?[^\n]*: /);
  editing.type("e\n");
  await editing.readTo(/arguments: .*250/);
  editing.type("\u0015{\n");
  await editing.readTo(/That is not JSON/);
  editing.type('\u0015{"amount":900}\n');
  await editing.readTo(/the tool refuses these arguments.*approve\?[^\n]*: /s);
  editing.type("e\n");
  await editing.readTo(/arguments: .*250/);
  editing.type('\u0015{"amount":20}\n');
  await editing.readTo(/Done\./);
  editing.type(ctrlD);
  expect(await editing.code).toBe(0);
  expect((await turn("cnv_b"))[2]).toContain("refunded 20");
});

test("a line that was typed before the question is a message, and no approval", async () => {
  const { typed, turn } = asking();
  const chat = typed("chat --id cnv_a --stack refund");
  await chat.readTo(/you> /);
  chat.type("Refund it.\ny\n");
  await chat.readTo(/approve\?.*: /);
  chat.type("n\n");
  await chat.readTo(/Done\./);
  chat.type(ctrlD);
  await chat.code;
  const blocks = await turn("cnv_a");
  expect(blocks[2]).toContain("denied");
  expect(blocks).toContain("user y");
});

test("the first ctrl-C cancels the answer and leaves the conversation sound, the second leaves", async () => {
  const { typed, piped, turn } = asking();
  const chat = typed("chat --id cnv_a --stack slow");
  await chat.readTo(/you> /);
  chat.type("A story.\n");
  await chat.readTo(/Once upon/);
  chat.type(ctrlC);
  await chat.readTo(/was cancelled.*you> /s);
  chat.type("Shorter.\n");
  await chat.readTo(/Quick\..*you> /s);
  chat.type(ctrlC);
  await chat.readTo(/ctrl-C again leaves/);
  chat.type(ctrlC);
  expect(await chat.code).toBe(130);
  expect(await turn("cnv_a")).toEqual(["user A story.", "user Shorter.", "assistant Quick."]);
  expect(await piped("verify cnv_a")).toMatchObject({ code: 0 });
});

test("ctrl-C while a person is asked cancels the run, and the call never begins", async () => {
  const { typed, piped } = asking();
  const chat = typed("chat --id cnv_a --stack refund");
  await chat.readTo(/you> /);
  chat.type("Refund it.\n");
  await chat.readTo(/approve\?.*: /);
  chat.type(`y${ctrlC}`);
  await chat.readTo(/was cancelled.*you> /s);
  chat.type(ctrlD);
  expect(await chat.code).toBe(0);
  const { stdout } = await piped("log cnv_a");
  expect(stdout).not.toContain("ToolStarted");
  expect(await piped("verify cnv_a")).toMatchObject({ code: 0 });
});

test("the end of the input at the question leaves the call to others, and the next chat asks again", async () => {
  const { typed, piped } = asking();
  const chat = typed("chat --id cnv_a --stack refund");
  await chat.readTo(/you> /);
  chat.type("Refund it.\n");
  await chat.readTo(/approve\?.*: /);
  chat.type(ctrlD);
  await chat.readTo(/approve cnv_a run_\S+ --as NAME/);
  expect(await chat.code).toBe(0);
  expect((await piped("ls --waiting")).stdout).toContain("cnv_a");
  const again = typed("chat cnv_a --stack refund");
  await again.readTo(/approve\?.*: /);
  again.type("yes\n");
  await again.readTo(/Done\..*you> /s);
  again.type(ctrlD);
  expect(await again.code).toBe(0);
});

test("what the model says cannot control the terminal", async () => {
  const { piped } = asking();
  expect((await piped("run @new Hi --stack colourful")).stdout).toBe("red  [31m and  gone\n");
});
