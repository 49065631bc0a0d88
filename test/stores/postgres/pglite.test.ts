import { afterAll, beforeAll, describe } from "vitest";
import { describeEventStore, describeSnapshots, describeViews } from "../../support/stores/contract.ts";
import { type PgliteServer, startPglite } from "../../support/stores/pglite.ts";
import { createEmptyStores, opened } from "../../support/stores/postgres-opened.ts";

describe("PGlite", () => {
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
});
