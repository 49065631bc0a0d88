import type { ConversationId } from "../../../src/domain/ids.ts";
import { conversationIdSchema } from "../../../src/domain/ids.ts";
import type { DataEncoding } from "../../../src/log/codec/data.ts";
import type { EventStore, StoredEnvelope } from "../../../src/log/ports/event-store.ts";
import { createMemoryStore, type MemoryStore } from "../../../src/stores/memory/store.ts";
import { openSqliteStore, type SqliteStore } from "../../../src/stores/sqlite/store.ts";
import { all, prepared, withoutPosition } from "../../../src/testing/contracts/prepared.ts";
import { createSoundStore } from "../audit/sound-store.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";

/** Three conversations, one of them with a blob: runs, tools, layers, a failed request. */
export async function soundStore(encoding: DataEncoding = "lines"): Promise<SqliteStore> {
  const path = temporaryFolder().file("source.db");
  await createSoundStore(path, encoding);
  return openSqliteStore(path);
}

/** A conversation, a fork of it, a fork of the fork, and a child of that: their first events, and one more each. */
export async function familyStore(): Promise<MemoryStore> {
  const store = createMemoryStore();
  const parents = [null, ["fork", "cnv_first"], ["fork", "cnv_second"], ["child", "cnv_third"]] as const;
  for (const [index, parent] of parents.entries()) {
    const origin = parent === null ? { type: "new" } : { type: parent[0], conversationId: parent[1] };
    const data = [{ origin }, { n: index }].map((each) => JSON.stringify(each));
    await store.append(prepared({ stream: `conversation-${family[index] ?? ""}`, data }));
  }
  return store;
}

export const family: readonly ConversationId[] = ["cnv_first", "cnv_second", "cnv_third", "cnv_fourth"].map((id) =>
  conversationIdSchema.parse(id),
);

/** Everything that a store holds, by stream, without what is the store's own. */
export async function contentOf(store: EventStore): Promise<ReadonlyMap<string, readonly object[]>> {
  const content = new Map<string, readonly object[]>();
  for await (const { stream } of store.heads()) {
    content.set(stream, (await all(store.readStream(stream))).map(withoutPosition));
  }
  return content;
}

/** A store whose events read otherwise than they were written. */
export function misreading(store: EventStore, read: (envelope: StoredEnvelope) => StoredEnvelope | null): EventStore {
  return {
    ...store,
    async *readStream(stream, options) {
      for await (const envelope of store.readStream(stream, options)) {
        const seen = read(envelope);
        if (seen !== null) yield seen;
      }
    },
  };
}
