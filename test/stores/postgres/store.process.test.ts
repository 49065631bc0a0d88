import { afterAll, beforeAll, describe, test } from "vitest";
import { isLong, isRound } from "../../support/cases.ts";
import {
  describeEventStore,
  describeLiveness,
  describeSnapshots,
  describeViews,
} from "../../support/stores/contract.ts";
import { hasPgbouncer, startPgbouncer, whyNoPgbouncer } from "../../support/stores/pgbouncer.ts";
import { asRole, createEmptyStores, newStore, opened, openedAgain, sql } from "../../support/stores/postgres-opened.ts";
import {
  hasPostgres,
  type PostgresServer,
  startPostgres,
  whyNoPostgres,
} from "../../support/stores/postgres-server.ts";

if (!hasPostgres) test.skip(whyNoPostgres);
else if (!hasPgbouncer) test.skip(whyNoPgbouncer);

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
    ["the owner", isRound || isLong, async () => opened(await emptyStore())],
    [
      "the writer's role behind pgbouncer",
      hasPgbouncer && (isRound || isLong),
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
}

const running = process.env["TURNLOG_TEST_POSTGRES"];
if (running !== undefined) {
  const create = async () => opened(await newStore(running));
  describeEventStore("the server of TURNLOG_TEST_POSTGRES", create);
  describeSnapshots("the server of TURNLOG_TEST_POSTGRES", create);
  describeViews("the server of TURNLOG_TEST_POSTGRES", create);
  describeLiveness("the server of TURNLOG_TEST_POSTGRES", create, openedAgain);
}

if (hasPostgres) describe("a server of Postgres", withServer);
