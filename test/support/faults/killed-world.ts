import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import type { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { interceptedBy } from "../../../src/engine/run/run-options.ts";
import { initPostgresStore } from "../../../src/stores/postgres/setup.ts";
import { firstSeed } from "../cases.ts";
import type { Front } from "../dialect.ts";
import { dialects } from "../dialects.ts";
import { startServerProcess } from "../eventstoredb/started-server.ts";
import { replayed } from "../replayed.ts";
import { startPostgres } from "../stores/postgres-server.ts";
import { freshAddress, runningServers } from "../stores/running-server.ts";
import { problemsIn } from "../verified.ts";
import { counting, engineOf, onceOnly, openWorld, type Place, readLedger, thinking } from "./crash-world.ts";

/** What a test of the crash harness holds: the store, and the model's server, which outlive the processes that it kills. */
export type World = AsyncDisposable & { readonly place: Place; readonly store: TurnlogStore; readonly model: Front };

export type Served = Partial<Pick<Place, "dialect" | "transport" | "mode" | "isStored" | "isWarm">>;

export async function createWorld(kind: string, served: Served = {}): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "turnlog-"));
  const { dialect = "responses", transport = "json", mode = "chained", isStored = true, isWarm = false } = served;
  const model = await dialects[dialect].start(thinking(dialect));
  const events = kind.endsWith("eventstoredb")
    ? await startServerProcess(kind === "eventstoredb" ? 0 : firstSeed)
    : null;
  const postgres = kind === "postgres" ? await startPostgres() : null;
  if (postgres !== null) await initPostgresStore(postgres.url("postgres"));
  const url = kind.startsWith("sqlite")
    ? `sqlite:${join(folder, "turnlog.db")}`
    : (postgres?.url("postgres") ?? events?.url ?? freshAddress(runningServers[0] ?? ""));
  const place = {
    url,
    dialect,
    transport,
    mode,
    isStored,
    isWarm,
    modelUrl: model.url,
    ledger: join(folder, "ledger"),
  };
  const store = await openWorld(place);
  return {
    place,
    store,
    model,
    async [Symbol.asyncDispose]() {
      await store.close();
      await model[Symbol.asyncDispose]();
      await events?.[Symbol.asyncDispose]();
      await postgres?.end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Takes the run up until it has ended, and says from the ledger what became of calls in doubt. */
export async function finish(
  { place, store }: World,
  id: string,
): Promise<{ readonly appends: number; readonly parked: number }> {
  const conversation = store.conversation(id);
  const engine = engineOf(place, id);
  let appends = 0;
  for (let parked = 0; parked < 40; parked += 1) {
    const { gate, passed } = counting();
    const result = await conversation.resume(engine, interceptedBy(gate, {}));
    appends += passed.appends;
    if (result?.status !== "parked") return { appends, parked };
    const ledger = readLedger(place);
    for (const { blockId } of result.waitingFor) {
      const [done] = ledger.get(blockId) ?? [];
      await conversation.settle(
        blockId,
        done === undefined ? { how: "rerun" } : { how: "result", output: done.answer },
      );
    }
  }
  throw new Error(`the run of ${id} does not end`);
}

/** What may happen once has not happened twice. */
export function checkLedger({ place }: World): void {
  const twice = [...readLedger(place)].filter(([, entries]) => entries.length > 1);
  expect(twice.filter(([, entries]) => onceOnly.has(entries[0]?.name ?? ""))).toEqual([]);
}

/** The log of everything that happened in a world is sound, and folds again, for these conversations, to what it says. */
export async function checkLog({ store }: World, ids: readonly string[]): Promise<void> {
  expect(await problemsIn(store)).toEqual([]);
  for (const id of ids) {
    const { difference } = await replayed(store, store.conversation(id));
    expect({ id, difference }).toEqual({ id, difference: null });
  }
}
