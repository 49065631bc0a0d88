import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const page = read("docs/WRITING-A-PROVIDER.md");

/** The members of an interface or an object type, by the source of its file. */
function membersOf(path: string, name: string): readonly string[] {
  const [, body = ""] =
    new RegExp(`export (?:interface|type) ${name}\\b[^\\n]*\\{\\n(.*?)\\n\\}`, "s").exec(read(path)) ?? [];
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)].map(([, member = ""]) => member);
}

test.each([
  ["src/engine/ports/codec.ts", "Codec", 25],
  ["src/engine/ports/anchor-kind.ts", "AnchorKind", 5],
  ["src/engine/ports/codec.ts", "Answer", 10],
  ["src/engine/ports/provider.ts", "Provider", 20],
])("%s: every member of %s is told to those who write a provider", (path, name, least) => {
  const members = membersOf(path, name);
  expect(members.length).toBeGreaterThanOrEqual(least);
  // As code: in a line of prose, or in one of the programs.
  const isTold = (member: string): boolean =>
    [...page.matchAll(/```ts\n.*?\n```|`[^`\n]+`/gs)].some(([code]) => new RegExp(`\\b${member}\\b`).test(code));
  expect(members.filter((member) => !isTold(member))).toEqual([]);
});
