import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { grantPostgresRoles } from "../../../src/stores/postgres/setup.ts";
import { all, appendPrepared } from "../../../src/testing/contracts/prepared.ts";
import { isLong, isRound, partOf } from "../../support/cases.ts";
import { outputOf } from "../../support/process.ts";
import {
  describeEventStore,
  describeLiveness,
  describeSnapshots,
  describeViews,
} from "../../support/stores/contract.ts";
import { hasPgbouncer, startPgbouncer, whyNoPgbouncer } from "../../support/stores/pgbouncer.ts";
import { type PgliteServer, startPglite } from "../../support/stores/pglite.ts";
import { asRole, createEmptyStores, opened, openedAgain, schemaOf, sql } from "../../support/stores/postgres-opened.ts";
import {
  hasPostgres,
  type PostgresServer,
  startPostgres,
  whyNoPostgres,
} from "../../support/stores/postgres-server.ts";

if (!hasPostgres) test.skip(whyNoPostgres);
else if (!hasPgbouncer) test.skip(whyNoPgbouncer);

/** Whether this run plays a part of the contract that `npm test` leaves to the rounds, of which each plays one. */
const isPart = (part: number): boolean => isLong || (isRound && partOf(3) === part);

function withServer(): void {
  let server: PostgresServer;
  let emptyStore: ReturnType<typeof createEmptyStores>;
  let pooler: Awaited<ReturnType<typeof startPgbouncer>> | null = null;
  beforeAll(async () => {
    server = await startPostgres();
    await sql(server.url("postgres"), "CREATE ROLE writer LOGIN");
    emptyStore = createEmptyStores(server, { writer: "writer" });
    if (hasPgbouncer) pooler = await startPgbouncer(server);
  });
  afterAll(async () => {
    await pooler?.[Symbol.asyncDispose]();
    await server.end();
  });

  const ways = [
    ["the writer's role", true, async () => opened(asRole(await emptyStore(), "writer"))],
    ["the owner", isPart(1), async () => opened(await emptyStore())],
    [
      "the writer's role behind pgbouncer",
      hasPgbouncer && isPart(2),
      async () => {
        const { search } = new URL(await emptyStore());
        return opened(`${pooler?.("postgres", "writer")}${search}`);
      },
    ],
  ] as const;
  for (const [who, isPlayed, create] of ways)
    if (isPlayed) {
      describeEventStore(`the Postgres store of ${who}`, create);
      describeSnapshots(`the Postgres store of ${who}`, create);
      describeViews(`the Postgres store of ${who}`, create);
      describeLiveness(`the Postgres store of ${who}`, create, openedAgain);
    }

  const patience = { timeout: 20_000 };
  const quick = { renewMs: 10, deadAfterMs: 200, lookMs: 10 };

  test.runIf(hasPgbouncer)(
    "several stores behind a pooler in transaction mode append, read and follow at once",
    async () => {
      const { search } = new URL(await emptyStore());
      const url = `${pooler?.("postgres", "writer")}${search}`;
      const stores = await Promise.all([opened(url), opened(url), opened(url)]);
      const left = new AbortController();
      const seen: string[] = [];
      const following = (async () => {
        for await (const { id } of stores[0].subscribe({ signal: left.signal })) seen.push(id);
      })();
      const sent = await Promise.all(
        Array.from({ length: 60 }, async (_, n) => {
          const store = stores[n % stores.length];
          if (store === undefined) throw new Error("there are three stores");
          const { sent } = await appendPrepared(store, { count: 1 + (n % 3) });
          expect((await all(store.readStream(sent.stream))).map(({ id }) => id)).toEqual(
            sent.envelopes.map(({ id }) => id),
          );
          return sent.envelopes.map(({ id }) => id);
        }),
      );
      const log = (await all(stores[2].readLog())).map(({ id }) => id);
      expect(log.toSorted()).toEqual(sent.flat().toSorted());
      await expect.poll(() => seen, patience).toEqual(log);
      left.abort();
      await following;
    },
  );

  test("a killed holder's lease counts as alive until a reader has seen it unrenewed for long enough", async () => {
    const url = await emptyStore();
    const reader = await opened(url, { pace: quick });
    const killed = "lse_killedHolder0001";
    await sql(url, `INSERT INTO ${schemaOf(url)}.leases VALUES ('${killed}', 5)`);
    expect(await reader.liveness.isAlive(killed)).toBe(true);
    expect(await reader.liveness.whenKnown?.(killed)).toBe(false);
    expect(await reader.liveness.isAlive(killed)).toBe(false);
  });

  test("a lease that somebody deleted is lost, and a role that may not write has none; a warning says what follows", async () => {
    const url = await emptyStore();
    const warnings: string[] = [];
    const warn = (message: string): void => void warnings.push(message);
    const holder = await opened(url, { pace: quick, warn });
    const held = await holder.liveness.hold();
    await sql(url, `DELETE FROM ${schemaOf(url)}.leases`);
    await expect.poll(() => warnings, patience).toHaveLength(1);
    expect(warnings[0]).toMatch(/nothing at .* shows any longer .*other processes may take over its open runs/);
    expect(await holder.liveness.hold()).not.toBe(held);
    await sql(url, "CREATE ROLE auditor LOGIN");
    await grantPostgresRoles(url, { reader: "auditor" });
    const auditor = await opened(asRole(url, "auditor"), { pace: quick, warn });
    expect(await auditor.liveness.hold()).toBeNull();
    expect(warnings[1]).toMatch(/could write nothing at .* wait for takeoverAfterMs .*may not do that/);
  });

  test("the package starts the thread of a lease from its own files, and the thread keeps no process alive", async () => {
    const url = await emptyStore();
    const program = `
      import { openPostgresStore } from "turnlog/postgres";
      const store = await openPostgresStore(process.argv[1]);
      console.log(await store.liveness.hold());
    `;
    const words = ["--input-type=module", "--eval", program, url];
    const held = await outputOf(words, { cwd: join(import.meta.dirname, "../../..") });
    expect(await sql(url, `SELECT id FROM ${schemaOf(url)}.leases`)).toEqual([{ id: held.trim() }]);
  });
}

/** It has one session, so it runs the contract only. */
function withPglite(): void {
  let server: PgliteServer;
  let emptyStore: ReturnType<typeof createEmptyStores>;
  beforeAll(async () => {
    server = await startPglite();
    emptyStore = createEmptyStores({ url: () => server.url });
  });
  afterAll(() => server.end());

  // It writes nothing to a disk, which is no server for anything that has to last.
  const create = async () => opened(await emptyStore(), { allowUnsafe: true });
  describeEventStore("the Postgres store on PGlite", create);
  describeSnapshots("the Postgres store on PGlite", create);
  describeViews("the Postgres store on PGlite", create);
}

if (!hasPostgres || isPart(0)) describe("PGlite", withPglite);
if (hasPostgres) describe("a server of Postgres", withServer);
