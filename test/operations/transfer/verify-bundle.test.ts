import { expect, test } from "vitest";
import { jsonOf, objectOf, textOrEmpty } from "../../../src/base/json.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { exportBundle, verifyBundle } from "../../../src/entries/copy.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { all } from "../../../src/testing/contracts/prepared.ts";
import { soundStore } from "../../support/carry/sources.ts";

const readingOf = (text: string) =>
  async function* (): AsyncIterable<string> {
    yield text;
  };

const verified = (text: string) => verifyBundle(readingOf(text));

/** A store whose events are by named people and by layers, with a long text. */
async function bundleOf(encoding: "json" | "lines", redact: boolean): Promise<string> {
  await using store = new TurnlogStore(createMemoryStore(), { encoding });
  const conversation = store.conversation("cnv_1");
  await conversation.append("Hello", { actor: { kind: "user", name: "Ada" } });
  await conversation.append("long ".repeat(20_000));
  await conversation.relabel({ title: "A talk" });
  return (await all(exportBundle(store, { redact }))).join("");
}

/** The bundle with other lines between its first and its last, under an end that fits them. */
function withLines(text: string, change: (lines: readonly string[]) => readonly string[]): string {
  const lines = change(text.trimEnd().split("\n").slice(0, -1));
  const before = `${lines.join("\n")}\n`;
  const end = { format: "turnlog-bundle-end", events: lines.length - 1, sha256: sha256Hex(before) };
  return `${before}${JSON.stringify(end)}\n`;
}

const membersOf = (line: string) => objectOf(jsonOf(line));

test.each(["lines", "json"] as const)("a bundle in %s is what was written, redacted or not", async (encoding) => {
  for (const redact of [false, true]) {
    const found = await verified(await bundleOf(encoding, redact));
    expect(found).toMatchObject({ isRedacted: redact, events: expect.any(Number) as number });
    expect(found.heads).toHaveLength(2);
    expect(found.unchecked).toBe(encoding === "json" && redact ? found.events : 0);
  }
});

test("a redacted bundle with layers, tools and forks is checked to its end", async () => {
  await using source = await soundStore();
  const text = (await all(exportBundle({ events: source }, { redact: true }))).join("");
  expect(await verified(text)).toMatchObject({ isRedacted: true, unchecked: 0 });
});

test("each changed fact, commitment and envelope of a redacted bundle in lines is named by its line", async () => {
  const text = await bundleOf("lines", true);
  const count = text.trimEnd().split("\n").length - 2;
  expect(count).toBeGreaterThan(5);
  let changed = 0;
  for (let index = 1; index <= count; index += 1) {
    const whole = membersOf(text.split("\n")[index] ?? "");
    const data = textOrEmpty(whole["data"]);
    const [facts = "", ...commitments] = data.split("\n");
    const otherFacts = [facts.replace(/.$/, ',"more":1}'), ...commitments].join("\n");
    const others = [
      { ...whole, data: otherFacts },
      { ...whole, at: "2020-01-01T00:00:00.000Z" },
      { ...whole, actor: { kind: "operator" } },
      { ...whole, data: commitments.length === 0 ? `${data}\n~${"0".repeat(64)}` : facts },
      ...commitments.map((commitment) => ({ ...whole, data: data.replace(commitment, `~${"0".repeat(64)}`) })),
    ];
    for (const other of others) {
      const bad = withLines(text, (lines) => lines.map((line, at) => (at === index ? JSON.stringify(other) : line)));
      await expect(verified(bad), JSON.stringify(other).slice(0, 200)).rejects.toThrow(
        `line ${index + 1} of the bundle`,
      );
      changed += 1;
    }
  }
  expect(changed).toBeGreaterThan(20);
});

test("a redacted bundle from which events or an end were taken is named", async () => {
  const text = await bundleOf("lines", true);
  const count = text.trimEnd().split("\n").length - 2;
  for (let index = 1; index <= count; index += 1)
    await expect(verified(withLines(text, (lines) => lines.toSpliced(index, 1)))).rejects.toThrow(/is due|is missing/);
  await expect(verified(text.slice(0, text.lastIndexOf('{"format"')))).rejects.toThrow("its end is missing");
  await expect(verified("{}\n")).rejects.toMatchObject({ code: "bundle-unusable" });
});

test("a place in a json conversation that was changed is named, although its texts cannot be checked", async () => {
  const text = await bundleOf("json", true);
  const bad = withLines(text, (lines) => lines.with(1, JSON.stringify({ ...membersOf(lines[1] ?? ""), at: "then" })));
  await expect(verified(bad)).rejects.toThrow("line 2 of the bundle");
});
