import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");

/** Words that mean something of turnlog's own where an error, a help text or a view says them. */
const defined = [
  ...["actor", "anchor", "block", "bundle", "child", "codec", "context", "conversation", "digest", "effect", "engine"],
  ...["envelope", "event", "exchange", "fork", "frame", "head", "in doubt", "layer", "open call", "parked", "provider"],
  ...["quarantine", "read model", "rebased", "redacted", "rehearsal", "repair", "revert", "revision", "run"],
  ...["settle", "skip", "snapshot", "stack", "step", "store", "tool", "transport", "turn", "view", "warm-up"],
];

/** Words of the code, which nobody has to know in order to use it. */
const inside = [
  ...["accumulator", "barrier", "blob", "cursor", "divergence", "draft block", "fold", "folds", "folded", "journal"],
  ...["lease", "recorder", "upcast"],
];

const says = (text: string, word: string) => new RegExp(`\\b${word}\\b`, "i").test(text);

/** What is between quotes in a source and has three words or more: what somebody may read. */
function sentencesOf(source: string): readonly string[] {
  return source
    .split("\n")
    .filter((line) => !/^\s*(\*|\/\/|\/\*\*|import |export .* from )/.test(line))
    .flatMap((line) => [...line.matchAll(/"((?:\\.|[^"\\])*)"|`((?:\\.|[^`\\])*)`/g)])
    .map(([, quoted, template]) => (quoted ?? template ?? "").replaceAll(/\$\{[^}]*\}/g, "…"))
    .filter((text) => text.trim().split(/\s+/).length > 2 && !/^(SELECT|INSERT|CREATE|DELETE|UPDATE) /.test(text));
}

// Checks of contracts are titles of tests.
const sentences = globSync("{src,packages}/**/*.ts", { cwd: root })
  .filter((path) => !path.startsWith(join("src", "testing", "contracts")))
  .flatMap((path) => sentencesOf(readFileSync(join(root, path), "utf8")).map((text) => `${path}: ${text}`));

test("CONCEPTS defines every term of turnlog's that its errors and views use", () => {
  const concepts = readFileSync(join(root, "docs/CONCEPTS.md"), "utf8");
  const terms = [...concepts.matchAll(/\*\*([^*]+)\*\*|(?<!\*)\*([a-z]+)\*(?!\*)/g)].map(
    ([, bold, italic]) => bold ?? italic ?? "",
  );
  const missing = defined.filter((word) => !terms.some((term) => says(term, word)));
  expect(missing).toEqual([]);
});

test("the list names no unused term", () => {
  const text = sentences.map((sentence) => sentence.slice(sentence.indexOf(": "))).join("\n");
  expect(defined.filter((word) => !says(text, word))).toEqual([]);
});

test("no error, help or view says a word of the code's inside", () => {
  expect(sentences.length).toBeGreaterThan(1_000);
  const found = sentences.filter((sentence) =>
    inside.some((word) => says(sentence.slice(sentence.indexOf(": ")), word)),
  );
  expect(found).toEqual([]);
});
