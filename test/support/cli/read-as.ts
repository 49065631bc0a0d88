import { chmodSync, readdirSync } from "node:fs";
import { onTestFinished, test } from "vitest";
import * as z from "zod";
import { outputOf, supportFile } from "../process.ts";

const outcomesSchema = z.array(
  z.strictObject({ typed: z.string(), code: z.int(), stdout: z.string(), stderr: z.string() }),
);

/** What commands come to for a user who may read everything in the folder, and write nothing, or make files of his own. */
export async function readAs(
  folder: string,
  commands: readonly string[],
  folderMode = 0o555,
): Promise<z.infer<typeof outcomesSchema>> {
  for (const name of readdirSync(folder)) chmodSync(`${folder}/${name}`, 0o444);
  chmodSync(folder, folderMode);
  onTestFinished(() => {
    chmodSync(folder, 0o755);
  });
  const text = await outputOf([supportFile("cli/reading-process.ts"), `${folder}/turnlog.db`, ...commands]);
  return outcomesSchema.parse(JSON.parse(text));
}

const needsUser = process.getuid === undefined;
/** A test that needs another user. */
export const asReader = test.skipIf(needsUser);
