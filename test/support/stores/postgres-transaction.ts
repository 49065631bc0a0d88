import pg from "pg";
import { onTestFinished } from "vitest";
import type { EventStore, PreparedAppend } from "../../../src/log/ports/event-store.ts";
import { appendCall } from "../../../src/stores/postgres/append.ts";
import { schemaOf } from "./postgres-opened.ts";

/** An append of another process that has drawn its positions and has not committed yet. */
export async function appendSlowly(
  { url, store }: { readonly url: string; readonly store: EventStore },
  sent: PreparedAppend,
): Promise<{ readonly end: (how: "COMMIT" | "ROLLBACK") => Promise<void> }> {
  const client = new pg.Client({ connectionString: url.replace(/\?.*/, "") });
  client.on("error", () => undefined);
  onTestFinished(() => client.end());
  await client.connect();
  await client.query("BEGIN");
  await client.query(appendCall([sent], { schema: schemaOf(url), storeId: store.storeId, seen: "0" }));
  return {
    async end(how) {
      await client.query(how);
    },
  };
}
