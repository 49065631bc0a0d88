import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { LogPage, OverviewDocument } from "../../../src/apps/studio/page-documents.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { studioHere } from "../../support/studio/studio-here.ts";

/** Three answered messages; the second cannot be read. */
async function recordBroken(file: string): Promise<number> {
  await using store = await openStore(`sqlite:${file}`);
  const talk = store.conversation("talk");
  const engine = createEngine({ provider: scripted(["One.", "Two.", "Three."]) });
  let second = 0;
  for (const [place, said] of ["A?", "B?", "C?"].entries()) {
    if (place === 1) second = (await talk.at(-1)).revision + 1;
    await talk.append(said);
    await talk.run(engine);
  }
  using database = new DatabaseSync(file);
  database.prepare("UPDATE events SET data = '{bro' WHERE type = 'BlockAppended' AND revision = ?").run(second);
  return second;
}

const ranges = ({ groups }: OverviewDocument) => groups.items.map(([from, to]) => [from, to]);

test("an event that cannot be read, and one that was skipped, has its row in the log", async () => {
  const file = temporaryFolder().file("turnlog.db");
  const second = await recordBroken(file);
  for (const sign of ["bad", "hole"]) {
    await using here = await studioHere(`sqlite:${file}`);
    const overview = await here.get<OverviewDocument>("/api/c/talk");
    const all = ranges(overview).flatMap(([from = 0, to = 0]) =>
      Array.from({ length: to - from + 1 }, (_, place) => from + place),
    );
    expect(all).toEqual(Array.from({ length: overview.events }, (_, revision) => revision));
    expect(ranges(overview).map(([from]) => from)).toContain(second);
    const { rows } = await here.get<LogPage>(`/api/c/talk/log?from=${second}&n=1`);
    expect(rows[0]).toMatchObject({ revision: second, sign });
    if (sign === "hole") expect(rows[0]?.detail).toBe("BlockAppended, by operator: a disk fault");
    if (sign === "bad") await here.store.conversation("talk").skipEvent(second, "a disk fault");
  }
});
