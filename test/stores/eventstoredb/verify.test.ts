import { expect, test } from "vitest";
import { openStore } from "../../../src/conversation/open-store.ts";
import { StoreCorruptedError } from "../../../src/log/ports/store-errors.ts";
import { prepared } from "../../../src/testing/contracts/prepared.ts";
import { anEvent } from "../../support/eventstoredb/server.ts";
import { opened, startServer } from "../../support/stores/eventstoredb-opened.ts";

/** What other programs do to streams of turnlog: `$maxCount`, `$tb`, a soft delete, a tombstone, an event of their own. */
const settings = {
  cut: '{"$maxCount":1}',
  truncated: '{"$tb":1}',
  deleted: '{"$tb":9223372036854775807}',
};

test.each(["the process that wrote it", "another process"])(
  "a store in which others deleted, truncated and wrote to streams is verified to its end by %s",
  async (who) => {
    const server = await startServer();
    const options = { viewsPath: ":memory:" };
    await using writer = await openStore(server.connectionString, options);
    for (const name of ["cut", "truncated", "deleted", "foreign", "tombstoned", "zound"])
      await writer.conversation(`cnv_${name}`).append("Hello");
    for (const [name, data] of Object.entries(settings))
      server.write(`$$conversation-cnv_${name}`, [{ ...anEvent("$metadata"), data: Buffer.from(data) }]);
    server.write("conversation-cnv_foreign", [anEvent("Ordered")]);
    server.tombstone("conversation-cnv_tombstoned");
    await using other = await openStore(server.connectionString, options);
    const { isSound, streams, problems, heads } = await (who === "another process" ? other : writer).verify();
    expect(isSound).toBe(false);
    expect(streams).toBe(6);
    expect(problems.map(({ conversation }) => conversation).toSorted()).toEqual(
      ["cut", "deleted", "foreign", "tombstoned", "truncated"].map((name) => `cnv_${name}`),
    );
    expect(heads.get("conversation-cnv_zound")?.revision).toBe(1);
  },
);

test.each(Object.entries(settings))(
  "an append to a stream that another program changed since (%s) is not acknowledged",
  async (_, data) => {
    const server = await startServer();
    const store = await opened(server.connectionString);
    const first = prepared({ count: 2 });
    const { stream } = first;
    await store.append(first);
    const expected = { revision: 1, digest: first.envelopes[1]?.digest ?? "" };
    server.write(`$$${stream}`, [{ ...anEvent("$metadata"), data: Buffer.from(data) }]);
    await expect(store.append(prepared({ stream, expected }))).rejects.toThrow(StoreCorruptedError);
  },
);
