import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandGroups, commandsByName } from "../../../src/apps/cli/command-list.ts";
import { commandsPage, helpOf } from "../../support/cli/commands-page.ts";

const page = join(import.meta.dirname, "../../../docs/COMMANDS.md");

/** `npx vitest run test/apps/cli/help.test.ts -u` writes the page anew. */
test("docs/COMMANDS.md is what --help of every command prints", async () => {
  // What is not there is no snapshot that agrees.
  expect(readFileSync(page, "utf8")).not.toBe("");
  await expect(await commandsPage()).toMatchFileSnapshot(page);
});

test("--help lists every command under the heading of its group, with its summary", async () => {
  const help = await helpOf();
  for (const { heading, commands } of commandGroups) {
    const group = help
      .slice(help.indexOf(`\n${heading}\n`))
      .split("\n\n")[0]
      ?.replace(/\s+/g, " ");
    for (const { name } of commands) expect(group).toMatch(new RegExp(` ${name} .*`));
    for (const { summary } of commands) expect(group).toContain(summary.replace(/\s+/g, " "));
  }
});

test.each([...commandsByName])("--help of %s has an example of it, and its options", async (path, definition) => {
  const help = await helpOf(...path.split(" "));
  expect(definition.example === path || definition.example.startsWith(`${path} `)).toBe(true);
  expect(help).toContain(`\nExample: turnlog ${definition.example}\n`);
  for (const { long } of definition.options ?? []) expect(help).toContain(String(long));
});
