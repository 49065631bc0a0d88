import { copyFileSync, rmSync } from "node:fs";
import { expect, test } from "vitest";
import { type StreamReport, verifyStore } from "../../../src/operations/audit/verify.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { corrupt } from "../../support/audit/corruption.ts";
import { createSoundStore } from "../../support/audit/sound-store.ts";
import { isTelling, seeds } from "../../support/cases.ts";
import { createRandom } from "../../support/coherence/random.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const drawn = seeds(70, 5_000, 200);

test(`names the first bad revision of each of ${drawn.length} random corruptions of a store`, {
  timeout: 600_000,
}, async () => {
  const folder = temporaryFolder();
  const sound = folder.file("sound.db");
  await createSoundStore(sound);
  expect((await damagedOf(sound)).map(summary)).toEqual([]);
  const kinds = new Set<string>();
  for (const seed of drawn) {
    const path = folder.file("corrupted.db");
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true });
    copyFileSync(sound, path);
    const { what, stream, revision, also } = corrupt(path, createRandom(seed));
    kinds.add(what.replace(/\d+/g, "n"));
    const damaged = await damagedOf(path);
    const [here] = damaged.filter((report) => report.stream === stream);
    expect(
      here?.problem?.revision,
      `seed ${seed}, ${stream}@${revision}: ${what}, reported ${JSON.stringify(damaged.map(summary))}`,
    ).toBe(revision);
    // Besides, only the stream that got the event, and the conversation that names a damaged blob.
    const others = damaged.filter((report) => report.stream !== stream && report.stream !== also);
    expect(
      others.every((other) => [stream, also].some((name) => name?.startsWith(`blob-${other.conversation ?? "?"}-`))),
      `seed ${seed}: ${what}`,
    ).toBe(true);
  }
  // Every kind was drawn, or this test has proved less than it says.
  if (isTelling)
    expect([...kinds].filter((kind) => !kind.startsWith("byte") && !kind.includes("became")).length).toBeGreaterThan(6);
});

async function damagedOf(path: string): Promise<readonly StreamReport[]> {
  await using store = await openSqliteStore(path, { mustExist: true });
  const reports: StreamReport[] = [];
  for await (const report of verifyStore(store, { codecs })) if (report.problem !== null) reports.push(report);
  return reports;
}

const summary = ({ stream, problem }: StreamReport): string =>
  `${stream}@${problem?.revision ?? "?"} ${problem?.message ?? ""}`;
