import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { openStore } from "../../../src/conversation/open-store.ts";
import type { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { lifeIn } from "../../../src/log/writer/owner.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { type Aside, startAside, supportFile } from "../../support/process.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { dataOf, eventsOf, rejectionOf, typesOf } from "../../support/workshop.ts";

const startRunner = (path: string, mode: "hang" | "race", ids: readonly string[]): Aside =>
  startAside("run/running-process.ts", [`sqlite:${path}`, mode, ...ids]);

async function openAt(path: string): Promise<TurnlogStore> {
  const store = await openStore(`sqlite:${path}`);
  onTestFinished(() => store.close());
  return store;
}

const answering = () => createEngine({ provider: scripted(["an answer"]) });

test("two processes that run the same conversations never both proceed", async () => {
  const path = temporaryFolder().file("store.db");
  const store = await openAt(path);
  const ids = Array.from({ length: 25 }, (_, n) => `cnv_race_${n}`);
  for (const id of ids) await store.conversation(id).append("hello");
  const runners = [startRunner(path, "race", ids), startRunner(path, "race", ids)];
  for (const { readTo } of runners) await readTo(/^open/);
  const lines: string[] = [];
  for (const id of ids) {
    for (const { tell } of runners) tell(id);
    // Both begin the next one together.
    for (const { readTo } of runners) lines.push(...(await readTo(/^(completed|refused)/)));
  }
  const overlapping = ids.filter((id) =>
    callsOf(lines, id).some(({ began }, n, calls) => n > 0 && began < (calls[n - 1]?.ended ?? 0n)),
  );
  expect(overlapping).toEqual([]);
  const outcomes = lines.filter((line) => /^(completed|refused)/.test(line));
  expect(outcomes).toHaveLength(2 * ids.length);
  expect(outcomes.filter((line) => line.startsWith("refused")).length).toBeGreaterThan(0);
  expect(outcomes.filter((line) => line.startsWith("refused") && !line.includes("run-in-progress"))).toEqual([]);
  // Where the two did not meet, the second one ran when the first had ended.
  for (const id of ids) {
    const runs = typesOf(await eventsOf(store.conversation(id))).filter((type) => type.startsWith("Run"));
    expect(runs.join(" ")).toMatch(/^RunStarted RunCompleted( RunStarted RunCompleted)?$/);
  }
});

type ProviderCall = { readonly began: bigint; readonly ended: bigint };

/** The provider calls of a conversation, of all processes, in the order in which they began. */
function callsOf(lines: readonly string[], id: string): readonly ProviderCall[] {
  const times = (word: string): readonly bigint[] =>
    lines
      .filter((line) => line.startsWith(`${word} ${id} `))
      .map((line) => BigInt(line.split(" ")[2] ?? "0"))
      .toSorted((left, right) => (left < right ? -1 : 1));
  const ends = times("ended");
  return times("began").map((began, n) => ({ began, ended: ends[n] ?? 0n }));
}

test("a run of a living process is refused and its owner named; of a killed one it is closed first", async () => {
  const path = temporaryFolder().file("store.db");
  const store = await openAt(path);
  const conversation = store.conversation("cnv_killed");
  await conversation.append("hello");
  const { child, readTo, tell, kill } = startRunner(path, "hang", ["cnv_killed"]);
  await readTo(/^open/);
  tell("go");
  await readTo(/^began/);

  const refused = await rejectionOf(conversation.run(answering()));
  expect(refused).toMatchObject({ code: "run-in-progress", owner: { pid: child.pid } });
  expect(String(refused)).toContain(`process ${child.pid}`);

  await conversation.append("are you there?");
  await kill();
  const { text, turn: readTurn, closedRun } = await conversation.run(answering(), { unfinished: "abandon" });
  const turn = await readTurn();
  const events = await eventsOf(conversation);
  const started = events.find(({ event }) => event.type === "RunStarted");
  expect({ text, closedRun }).toEqual({ text: "an answer", closedRun: started?.runId });
  expect(turn.blocks.map((block) => block.text)).toEqual(["hello", "are you there?", "an answer"]);
  expect(dataOf(events, "RunFailed")).toMatchObject([{ kind: "interrupted" }]);
  expect(events.find(({ event }) => event.type === "RunFailed")?.actor).toEqual({ kind: "recovery" });
});

test("a run of another thread of this process is left to it", async () => {
  const path = temporaryFolder().file("store.db");
  const store = await openAt(path);
  const conversation = store.conversation("cnv_thread");
  await conversation.append("hello");
  const thread = new Worker(supportFile("run/running-thread.ts"), {
    workerData: { url: `sqlite:${path}`, id: conversation.id },
  });
  onTestFinished(async () => {
    await thread.terminate();
  });
  expect(await once(thread, "message")).toEqual(["began"]);
  const refused = await rejectionOf(conversation.run(answering(), { unfinished: "abandon" }));
  expect(refused).toMatchObject({ code: "run-in-progress", owner: { pid: process.pid } });
  expect(String(refused)).toContain("`takeover: true`");
  thread.postMessage("go on");
  expect(await once(thread, "message")).toEqual(["an answer of the thread"]);
  expect((await conversation.turn()).last?.text).toBe("an answer of the thread");
});

test("a run of a thread that was terminated is free at once", async () => {
  const path = temporaryFolder().file("store.db");
  const store = await openAt(path);
  const conversation = store.conversation("cnv_thread");
  await conversation.append("hello");
  const thread = new Worker(supportFile("run/running-thread.ts"), {
    workerData: { url: `sqlite:${path}`, id: conversation.id },
  });
  expect(await once(thread, "message")).toEqual(["began"]);
  await thread.terminate();
  expect(await conversation.run(answering())).toMatchObject({ text: "an answer", resumed: true });
});

test("a run of a container that was killed is free at once in the next one, and locked while the first lives", async () => {
  const path = temporaryFolder().file("store.db");
  const store = await openAt(path);
  const conversation = store.conversation("cnv_container");
  await conversation.append("hello");
  const { readTo, tell, kill } = startRunner(path, "hang", ["cnv_container"]);
  await readTo(/^open/);
  tell("go");
  await readTo(/^began/);
  const { run } = (await (await conversation.at(-1)).load()).view.client;
  if (run?.owner == null) throw new Error("no run is open");
  // As the log has it where the process numbers of the owner cannot be understood.
  run.owner = { ...run.owner, pidNamespace: "pid:[1]", pid: 1 };
  const inTheOther = { ...run.owner };
  expect(await lifeIn(store.events, inTheOther)).toBe("alive");
  await kill();
  expect(await lifeIn(store.events, inTheOther)).toBe("dead");
  expect(await conversation.run(answering())).toMatchObject({ text: "an answer", resumed: true });
});
