import { checkBounds } from "../../log/codec/bounds.ts";
import {
  comparePositions,
  type ErasingStore,
  type Head,
  type ReadLogOptions,
  type ReadStreamOptions,
  type ScrubResult,
  type StoredEnvelope,
} from "../../log/ports/event-store.ts";
import type { Liveness } from "../../log/ports/liveness.ts";
import type { SnapshotStore } from "../../log/ports/snapshot-store.ts";
import { StoreClosedError } from "../../log/ports/store-errors.ts";
import type { ViewStore } from "../../log/ports/view-store.ts";
import { realTime } from "../time.ts";
import { createAppend } from "./append.ts";
import { createErase, scrubFile } from "./erase.ts";
import { storeError } from "./errors.ts";
import { filesOf } from "./files.ts";
import { createGroupCommit } from "./group-commit.ts";
import { createGuarded, patiently } from "./guarded.ts";
import { createHeadsBeside, type HeadsBeside } from "./heads-beside.ts";
import { createSqliteLiveness } from "./liveness.ts";
import { defaultDeadlineMs, emitWarning, type OpenDatabase, openDatabase, type SqliteOpenOptions } from "./open.ts";
import { createPlaceCheck } from "./place.ts";
import { createPages, maxPageRows, namingKey, orphanEvents } from "./read.ts";
import { createEnvelopes, type EventRow } from "./rows.ts";
import { takesLines } from "./schema.ts";
import { createSqliteSnapshots } from "./snapshots.ts";
import { createSqliteViews } from "./views.ts";
import { createWatch } from "./watch.ts";

export type SqliteStore = ErasingStore & {
  readonly snapshots: SnapshotStore;
  readonly views: ViewStore;
  /** Absent for a store in memory, which belongs to this process alone. */
  readonly liveness?: Liveness;
};

export type SqliteStoreOptions = SqliteOpenOptions & {
  /** The longest time until a subscription sees a write of another process. */
  readonly pollMs?: number;
};

/**
 * Opens the embedded store: one file, or `:memory:` for a store that ends with the process. Several processes may have the file
 * open at once.
 *
 * @throws {StoreNotFoundError} if there is no store and `mustExist` is set.
 * @throws {StoreUnavailableError} if the file cannot be created, opened or made durable.
 * @throws {StoreCorruptedError} if the file is damaged, or not a turnlog store.
 * @throws {StoreTooNewError} if a newer turnlog wrote it.
 */
export async function openSqliteStore(path: string, options: SqliteStoreOptions = {}): Promise<SqliteStore> {
  const { deadlineMs = defaultDeadlineMs, pollMs = 50 } = options;
  const opened = await patiently(deadlineMs, () => openDatabase(path, options));
  return createStore(opened, { path, deadlineMs, pollMs, warn: options.warn ?? emitWarning });
}

/** The pause before truncating again a log that a reader held on to. */
const scrubPauseMs = 50;

type StoreOptions = Required<Pick<SqliteStoreOptions, "deadlineMs" | "pollMs" | "warn">> & { readonly path: string };

function createStore(opened: OpenDatabase, { path, deadlineMs, pollMs, warn }: StoreOptions): SqliteStore {
  const { database, storeId, isReadOnly, version, confirm } = opened;
  const pages = createPages(database);
  const envelopeOf = createEnvelopes();
  const watch = createWatch(version, pollMs);
  let place = createPlaceCheck(path, { isReadOnly });
  const appendInTransaction = createAppend(database);
  const erase = createErase(database, appendInTransaction);
  const { append, idle } = createGroupCommit({
    ...{ database, append: appendInTransaction, deadlineMs, confirmPlace: () => place.confirm("written") },
    admit(prepared) {
      refuseIfClosed();
      checkBounds(prepared);
    },
    translate: (error) => storeError(error, path),
    onCommit() {
      hasWritten = true;
      watch.notify();
    },
  });
  const guarded = createGuarded({
    ...{ path, deadlineMs, refuseIfClosed },
    confirm() {
      confirm();
      place.confirm("read");
    },
  });
  const beside = path === ":memory:" ? null : createHeadsBeside(database, { path, storeId });
  const liveness = path === ":memory:" ? null : createSqliteLiveness({ path, refuseIfClosed, warn });
  let hasWritten = false;
  let hasLines = false;
  let closing: Promise<void> | null = null;

  function refuseIfClosed(): void {
    if (closing !== null) throw new StoreClosedError(`${path} was closed`);
  }

  /** Events page by page; each page is requested with the number of events still wanted. */
  async function* paged(
    { limit = Number.POSITIVE_INFINITY, signal }: Pick<ReadLogOptions, "limit" | "signal">,
    page: (left: number) => readonly EventRow[],
    note: (envelope: StoredEnvelope) => void,
  ): AsyncIterable<StoredEnvelope> {
    for (let left = limit; ; ) {
      signal?.throwIfAborted();
      const rows = await guarded(() => page(left));
      for (const row of rows) {
        refuseIfClosed();
        signal?.throwIfAborted();
        const envelope = envelopeOf(row);
        yield envelope;
        note(envelope);
      }
      left -= rows.length;
      if (rows.length < maxPageRows) return;
    }
  }

  function readStream(stream: string, options: ReadStreamOptions = {}): AsyncIterable<StoredEnvelope> {
    const { direction = "forwards" } = options;
    const step = direction === "forwards" ? 1 : -1;
    let next = options.from ?? (step > 0 ? 0 : Number.MAX_SAFE_INTEGER);
    const note = ({ revision }: StoredEnvelope): void => {
      next = revision + step;
    };
    return paged(options, (left) => pages[direction](stream, next, left), note);
  }

  function readLog(options: ReadLogOptions = {}): AsyncIterable<StoredEnvelope> {
    const { streamPrefix = "" } = options;
    let after = options.after ?? "0";
    const note = ({ position }: StoredEnvelope): void => {
      after = position;
    };
    return paged(options, (left) => pages.log(after, streamPrefix, left), note);
  }

  async function* subscribe(options: ReadLogOptions = {}): AsyncIterable<StoredEnvelope> {
    refuseIfClosed();
    const { streamPrefix = "", limit = Number.POSITIVE_INFINITY, signal } = options;
    const isOver = (): boolean => closing !== null || signal?.aborted === true;
    let after = options.after ?? "0";
    watch.begin();
    try {
      for (let left = limit; left > 0; ) {
        if (isOver()) return;
        const { end, rows, news } = await guarded(() => {
          const page = { end: pages.end(), rows: pages.log(after, streamPrefix, left) };
          // Reading and waiting happen in one turn, so no write falls between them.
          return { ...page, news: page.rows.length === 0 ? watch.wait(signal) : null };
        });
        await news;
        for (const row of rows) {
          if (isOver()) return;
          const envelope = envelopeOf(row);
          yield envelope;
          after = envelope.position;
        }
        left -= rows.length;
        // Events of other streams up to that position were checked, too.
        if (rows.length < maxPageRows && end !== null && comparePositions(end, after) > 0) after = end;
      }
    } finally {
      watch.end();
    }
  }

  async function* heads(streamPrefix = ""): AsyncIterable<{ readonly stream: string; readonly head: Head }> {
    let from = streamPrefix;
    for (;;) {
      const rows = await guarded(() => pages.heads(from));
      if (rows.length === 0) return;
      for (const { name, revision, digest } of rows) {
        if (!name.startsWith(streamPrefix)) return;
        refuseIfClosed();
        yield { stream: name, head: { revision, digest } };
        // The smallest name after this one.
        from = `${name}\u0000`;
      }
    }
  }

  /** Saved heads only help to find damage: if they cannot be saved, the store warns and goes on. */
  function saveHeads(save: (heads: HeadsBeside) => void): void {
    if (beside === null || isReadOnly) return;
    try {
      save(beside);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      warn(
        `turnlog could not save heads beside ${path}, so verify cannot tell whether its newest events are lost: ${reason}`,
      );
    }
  }

  /** Waits for a reader in the middle of a read, as for a lock. */
  async function scrub(options: { readonly force?: boolean } = {}): Promise<ScrubResult> {
    const until = realTime.nowMs() + deadlineMs;
    for (;;) {
      const result = await guarded(() => scrubFile(database, options));
      saveHeads((heads) => {
        heads.saveAll();
      });
      if (result.status === "done" || realTime.nowMs() >= until) return result;
      await realTime.wait(scrubPauseMs);
    }
  }

  async function shut(): Promise<void> {
    watch.notify();
    watch.stop();
    await idle();
    liveness?.end();
    if (hasWritten)
      saveHeads((heads) => {
        heads.add();
      });
    try {
      database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    } catch {
      // Another process is writing: the last one to close truncates the log.
    }
    database.close();
    place.close();
  }
  function close(): Promise<void> {
    closing ??= shut();
    return closing;
  }

  return {
    storeId,
    deadlineMs,
    snapshots: createSqliteSnapshots(database, guarded, { besideEvents: true }),
    views: createSqliteViews(database, guarded),
    ...(liveness === null ? {} : { liveness }),
    takesLines() {
      refuseIfClosed();
      if (hasLines || isReadOnly) return hasLines;
      try {
        place.confirm("read");
        hasLines = takesLines(database);
        // To raise the schema, SQLite makes the log anew.
        place.close();
        place = createPlaceCheck(path);
        return hasLines;
      } catch (error) {
        throw storeError(error, path);
      }
    },
    ...{ append, readStream, readLog, subscribe, heads, close },
    orphanEvents: () => guarded(() => orphanEvents(database)),
    savedHeads: () => guarded(() => beside?.read() ?? new Map<string, Head>()),
    saveHeads: () =>
      guarded(() => {
        saveHeads((heads) => {
          heads.saveAll();
        });
      }),
    erase: (erasure) =>
      guarded(() => {
        const result = erase(erasure, () => place.confirm("written"));
        hasWritten = true;
        watch.notify();
        return result;
      }),
    scrub,
    ...(path === ":memory:" ? {} : { files: () => filesOf(path) }),
    namingKey: (stream) => guarded(() => namingKey(database, stream)),
    end: () => guarded(() => pages.end()),
    newestStream: (streamPrefix) => guarded(() => pages.newestStream(streamPrefix)),
    head: (stream) => guarded(() => pages.head(stream)),
    [Symbol.asyncDispose]: close,
  };
}
