import { mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join, matchesGlob } from "node:path";
import { expect, test } from "vitest";
import { openStore } from "../../src/conversation/open-store.ts";
import { namedFile } from "../../src/stores/files.ts";
import { temporaryFolder } from "../support/stores/temporary-folder.ts";

test("a link in a linked folder is followed from its own place", () => {
  const folder = realpathSync(temporaryFolder().path);
  const at = (...names: readonly string[]): string => join(folder, ...names);
  mkdirSync(at("named"));
  mkdirSync(at("real", "inner"), { recursive: true });
  symlinkSync(join("..", "real", "inner"), at("named", "link"));
  symlinkSync(join("..", "out.db"), at("real", "inner", "name"));
  writeFileSync(at("named", "out.db"), "somebody else's");
  const path = at("named", "link", "name");
  expect(namedFile(path)).toBe(at("real", "out.db"));
  writeFileSync(path, "");
  expect(namedFile(path)).toBe(at("real", "out.db"));
});

test("git ignores the demo's store, and what is kept beside it", async () => {
  const { path, file } = temporaryFolder();
  const store = await openStore(`sqlite:${file("turnlog.db")}`);
  await store.conversation().append("Hello.");
  const whileOpen = readdirSync(path);
  await store.close();
  const names = [...whileOpen, ...readdirSync(path)];
  expect(names).toContain("turnlog.db.heads");
  const ignored = readFileSync(join(import.meta.dirname, "../../.gitignore"), "utf8").split("\n");
  expect(names.filter((name) => !ignored.some((glob) => matchesGlob(name, glob)))).toEqual([]);
});
