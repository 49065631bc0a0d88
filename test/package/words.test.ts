import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { outcomeOf } from "../support/process.ts";

const root = join(import.meta.dirname, "..", "..");
const check = (cwd: string) => outcomeOf(process.execPath, [join(root, "tools/check-words.cjs")], { cwd });

const floors = ["src/domain", "src/projections", "src/log/codec", "src/engine/planning", "src/analysis/descriptions"];
const words = [
  ...["previous_response_id", "function_call", "function_call_output", "call_id", "encrypted_content"],
  ...["input_text", "output_text", "max_output_tokens", "incomplete_details"],
];

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "turnlog-words-"));
  for (const floor of floors) await mkdir(join(folder, floor), { recursive: true });
});
afterEach(() => rm(folder, { recursive: true }));

test.each(words)("the checks report the word %s in every folder that no wire belongs in", async (word) => {
  for (const floor of floors) await writeFile(join(folder, floor, "file.ts"), `\n// \`${word}\` in a comment\n`);
  const { code, stderr } = await check(folder);
  expect(code).toBe(1);
  expect(stderr.trim().split("\n")).toEqual(
    floors.map((floor) => `${floor}/file.ts:2 says ${word}, a word of a provider's wire`),
  );
});

test("what tracing services show of a request is in words of the wires, and is not reported", async () => {
  await mkdir(join(folder, "src/engine/tracing/spans"), { recursive: true });
  await writeFile(join(folder, "src/engine/tracing/spans/file.ts"), 'export const key = "max_output_tokens";\n');
  expect(await check(folder)).toMatchObject({ code: 0, stderr: "" });
});

test("the checks report no other word, and none in turnlog itself", async () => {
  await writeFile(join(folder, "src/domain/file.ts"), 'export const chat = "tool_call_id";\n');
  expect(await check(folder)).toMatchObject({ code: 0, stderr: "" });
  expect(await check(root)).toMatchObject({ code: 0, stderr: "" });
});
