import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { expect, test } from "vitest";
import { StoreUnavailableError } from "../../../src/log/ports/store-errors.ts";
import { defaultViewsPath } from "../../../src/stores/eventstoredb/views.ts";
import { appendPrepared } from "../../../src/testing/contracts/prepared.ts";
import { opened, startServer } from "../../support/stores/eventstoredb-opened.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

const key = { stream: "conversation-1", projection: "turn", version: 1 };

test("keeps snapshots in a file of this machine, which is made when something is kept", async () => {
  const server = await startServer();
  const viewsPath = temporaryFolder().file("cache/views.db");
  const first = await opened(server.connectionString, { viewsPath });
  await appendPrepared(first, {});
  expect(existsSync(viewsPath)).toBe(false);
  await first.snapshots.put(key, { revision: 1, data: "x" });
  await first.close();
  const second = await opened(server.connectionString, { viewsPath });
  expect(second.viewsPath).toBe(viewsPath);
  expect(await second.snapshots.get(key, 1)).toEqual({ revision: 1, data: "x" });
});

test("begins anew when the file is gone or damaged", async () => {
  const server = await startServer();
  const viewsPath = temporaryFolder().file("views.db");
  for (const harm of [
    () => rmSync(viewsPath),
    () => {
      // All but the first of its pages' headers.
      writeFileSync(viewsPath, readFileSync(viewsPath).fill(0xa5, 100));
    },
  ]) {
    const store = await opened(server.connectionString, { viewsPath });
    await store.snapshots.put(key, { revision: 1, data: "x" });
    await store.close();
    harm();
    const again = await opened(server.connectionString, { viewsPath });
    expect(await again.snapshots.get(key, 1)).toBeNull();
    await again.close();
  }
});

test("says that it cannot keep anything where it may not write, and reads and writes events all the same", async () => {
  const folder = temporaryFolder();
  writeFileSync(folder.file("file"), "");
  const store = await opened((await startServer()).connectionString, { viewsPath: folder.file("file/views.db") });
  await expect(store.snapshots.put(key, { revision: 1, data: "x" })).rejects.toThrow(StoreUnavailableError);
  expect((await appendPrepared(store, {})).result.status).toBe("appended");
});

test("keeps the views of each store in a file of its own in the user's cache", () => {
  const [left, right] = [defaultViewsPath("a"), defaultViewsPath("b")];
  expect(left).not.toBe(right);
  expect(left.startsWith(process.env["XDG_CACHE_HOME"] ?? homedir())).toBe(true);
});
