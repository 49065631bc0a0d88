import { afterAll, expect, test } from "vitest";
import * as z from "zod";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { cases } from "../../support/cases.ts";
import { foundIn } from "../../support/erasure/secrets.ts";
import { startAside } from "../../support/process.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const rounds = cases(3, 600, 15);
const why = { by: "dpo", ground: "gdpr-17" } as const;
const texts = z.array(z.string());
const seenSchema = z.object({
  reads: z.int(),
  before: z.int(),
  after: z.int(),
  mixed: texts,
  late: texts,
  errors: texts,
});
let seen: z.infer<typeof seenSchema> | null = null;

test(`a process that reads while ${rounds} texts and conversations are erased sees each as before or as after`, {
  timeout: 36_000_000,
}, async () => {
  const { path, file } = temporaryFolder();
  await using store = new TurnlogStore(await openSqliteStore(file("turnlog.db")));
  const talk = store.conversation("talk");
  const engine = createEngine({ provider: scripted(() => "Noted.") });
  await talk.append("Hello.");
  const reader = startAside("erasure/reading-process.ts", [file("turnlog.db")]);
  await reader.readTo(/^open$/);
  const secrets: string[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const secret = `secret-${String(round).padStart(4, "0")}-of-Ada`;
    secrets.push(secret);
    await talk.append([`My number is ${secret}.`, `Again: ${secret}.`]);
    await talk.relabel({ title: `The case of ${secret}` });
    await talk.run(engine);
    if (round % 3 === 2) await store.conversation(`whole-${round}`).append(`All of ${secret}.`);
    // The list and the index are read, and so made, by both.
    await store.search("secret");
    const plan = await store.planErasure({
      texts: [secret],
      in: ["talk"],
      ...(round % 3 === 2 ? { conversations: [`whole-${round}`] } : {}),
    });
    await store.erase(plan, why);
    reader.tell(`erased ${secret}`);
    await reader.readTo(new RegExp(`^erased ${secret}$`));
  }
  reader.tell("end");
  const [last = ""] = (await reader.readTo(/^\{/)).slice(-1);
  reader.leave();
  await reader.closed;
  seen = seenSchema.parse(JSON.parse(last));
  expect(seen).toMatchObject({ mixed: [], late: [], errors: [] });
  expect(reader.child.exitCode).toBe(0);
  expect(seen.reads).toBeGreaterThan(rounds);
  expect(seen.after).toBeGreaterThan(0);
  expect((await store.verify()).problems).toEqual([]);
  const { status } = (await store.events.scrub?.()) ?? {};
  expect(status).toBe("done");
  expect(foundIn(path, secrets)).toEqual([]);
});

afterAll(() => {
  if (seen !== null)
    process.stdout.write(
      `two processes: ${rounds} erasures, ${seen.reads} reads (${seen.before} states before, ${seen.after} after), ${seen.mixed.length} mixed, ${seen.late.length} late, ${seen.errors.length} errors\n`,
    );
});
