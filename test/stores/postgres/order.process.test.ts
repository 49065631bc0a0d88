import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cases, firstSeed, isLong, isRound } from "../../support/cases.ts";
import { createEmptyStores } from "../../support/stores/postgres-opened.ts";
import {
  hasPostgres,
  type PostgresServer,
  startPostgres,
  whyNoPostgres,
} from "../../support/stores/postgres-server.ts";
import { playRandomly } from "../../support/stores/postgres-world.ts";

/** Appends of one world: a long one is interrupted a hundred times. */
const appends = isLong ? 10_000 : isRound ? 1_000 : 300;

if (!hasPostgres) test.skip(whyNoPostgres);
else
  describe("a server of Postgres in trouble", () => {
    let server: PostgresServer;
    beforeAll(async () => {
      server = await startPostgres();
    });
    afterAll(() => server.end());

    test.each(Array.from({ length: cases(1, 5) }, (_, n) => firstSeed + n))(
      "loses and doubles no append, and shows every follower the log without a gap (seed %i)",
      { timeout: 3_600_000 },
      async (seed) => {
        const url = await createEmptyStores(server)();
        const played = await playRandomly({ server, url, seed, appends, stops: isLong ? 20 : 2 });
        console.log(JSON.stringify(played));
        expect(played.appends).toBeGreaterThanOrEqual(appends);
        expect(played.stops).toBeGreaterThan(0);
      },
    );
  });
