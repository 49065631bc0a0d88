import { expect, onTestFinished, test } from "vitest";
import { openStore } from "../../src/conversation/open-store.ts";
import type { TurnlogStore } from "../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../src/engine/options/create-engine.ts";
import { verifyStore } from "../../src/operations/audit/verify.ts";
import { codecs } from "../../src/providers/codecs.ts";
import { scripted } from "../../src/providers/scripted/scripted.ts";
import { all } from "../../src/testing/contracts/prepared.ts";
import { startServerProcess } from "../support/eventstoredb/started-server.ts";
import { type Aside, startAside } from "../support/process.ts";
import { temporaryFolder } from "../support/stores/temporary-folder.ts";
import { eventsOf, rejectionOf, typesOf } from "../support/workshop.ts";

/** A store at a server that is a third process. */
async function place(): Promise<{ readonly url: string; readonly store: TurnlogStore }> {
  const server = await startServerProcess();
  onTestFinished(() => server[Symbol.asyncDispose]());
  const store = await openStore(server.url, { viewsPath: ":memory:" });
  onTestFinished(() => store.close());
  return { url: server.url, store };
}

/** A process that runs conversations, one for each line that it is told. */
const startRunner = (url: string, mode: "hang" | "hold", ids: readonly string[]): Aside =>
  startAside("run/running-process.ts", [url, mode, ...ids], { ...process.env, XDG_CACHE_HOME: temporaryFolder().path });

test("of two processes that run a conversation at once one proceeds and the other gets an error, and no event is doubled", async () => {
  const { url, store } = await place();
  const ids = Array.from({ length: 12 }, (_, n) => `cnv_race_${n}`);
  for (const id of ids) await store.conversation(id).append("hello");
  const runners = [startRunner(url, "hold", ids), startRunner(url, "hold", ids)];
  for (const { readTo } of runners) await readTo(/^open/);
  for (const id of ids) {
    await raceOnce(runners, id);
    const conversation = store.conversation(id);
    const types = typesOf(await eventsOf(conversation));
    expect(types.filter((type) => /^(Run|Inference|Response)/.test(type))).toEqual([
      ...["RunStarted", "InferenceRequested", "ResponseReceived", "RunCompleted"],
    ]);
    expect((await conversation.turn()).blocks.map(({ text }) => text)).toEqual(["hello", "an answer"]);
  }
  await expectSound(store);
});

test("a run of a living process is refused and its owner named; once it was killed, one of two goes on", async () => {
  const { url, store } = await place();
  const conversation = store.conversation("cnv_killed");
  await conversation.append("hello");
  const { child, readTo, tell, kill } = startRunner(url, "hang", ["cnv_killed"]);
  await readTo(/^open/);
  tell("go");
  await readTo(/^began/);
  const answering = createEngine({ provider: scripted(["an answer"]) });
  const refused = await rejectionOf(conversation.run(answering));
  expect(refused).toMatchObject({ code: "run-in-progress", owner: { pid: child.pid } });
  await kill();
  const runners = [startRunner(url, "hold", ["cnv_killed"]), startRunner(url, "hold", ["cnv_killed"])];
  for (const runner of runners) await runner.readTo(/^open/);
  await raceOnce(runners, "cnv_killed");
  const types = typesOf(await eventsOf(conversation));
  expect(types.filter((type) => type === "RunStarted" || type === "RunResumed").length).toBe(2);
  expect(types.filter((type) => type === "RunCompleted").length).toBe(1);
  expect((await conversation.turn()).blocks.map(({ text }) => text)).toEqual(["hello", "an answer"]);
  await expectSound(store);
});

/** Lets both try at once: the one that asks the model holds the run until it is told to go on, the other is told. */
async function raceOnce(runners: readonly Aside[], id: string): Promise<void> {
  for (const { tell } of runners) tell(id);
  const first = await Promise.all(runners.map(({ readTo }) => readTo(/^(began|refused|completed)/)));
  const words = first.map((lines) => lines.at(-1)?.split(" ")[0]);
  expect(words.toSorted(), id).toEqual(["began", "refused"]);
  expect(first.flat().find((line) => line.startsWith("refused"))).toBe(`refused ${id} run-in-progress`);
  const asking = runners[words.indexOf("began")];
  asking?.tell("go on");
  expect((await asking?.readTo(/^(completed|refused)/))?.at(-1)).toBe(`completed ${id}`);
}

/** No event is there twice, and every check of the store passes. */
async function expectSound(store: TurnlogStore): Promise<void> {
  const log = await all(store.events.readLog());
  expect(new Set(log.map((event) => event.id)).size).toBe(log.length);
  expect((await all(verifyStore(store.events, { codecs }))).filter(({ problem }) => problem !== null)).toEqual([]);
}
