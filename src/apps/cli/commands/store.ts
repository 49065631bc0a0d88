import { counted } from "../../../base/counted.ts";
import { TurnlogError } from "../../../base/turnlog-error.ts";
import { recordExport } from "../../../log/system-streams/exports.ts";
import { isPostgresAddress, parsePostgresAddress } from "../../../stores/postgres/address.ts";
import { sqliteFile } from "../../../stores/sqlite/address.ts";
import { backUpStore, restoreStore, type WrittenFile } from "../../../stores/sqlite/backup.ts";
import { backupDocument } from "../../documents/stores.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { type CliContext, shownUrl } from "../context.ts";
import { UsageError } from "../exit-codes.ts";

/** Writes a sqlite store into one file. */
export const backup = storeCommand("backup", ({ path, file, force }) => backUpStore(path, file, { force }));

/** Replaces a store with such a backup. */
export const restore = storeCommand("restore", ({ path, file, force }) => restoreStore(file, path, { force }));

type Work = { readonly path: string; readonly file: string; readonly force: boolean };

function storeCommand(action: "backup" | "restore", work: (asked: Work) => WrittenFile) {
  return commandCode({
    document: backupDocument,

    async *run(
      context,
      { arguments: [file = ""], options: { force = false } }: CommandInput<{ readonly force?: boolean }>,
    ) {
      const { storeUrl: store } = context;
      const { storeId, streams, events, bytes, removed } = refusing(() =>
        work({ path: sqlitePath(store), file, force }),
      );
      if (action === "backup") await recordBackup(context);
      yield { action, file, store, storeId, streams, events, bytes, removed: [...removed] };
    },

    render({ file, store, streams, events, bytes, removed }, { print, note }) {
      const what = [counted(streams, "stream"), counted(events, "event"), counted(bytes, "byte")].join(", ");
      print(
        action === "backup"
          ? `${file} holds ${what}, checked`
          : `${sqlitePath(store)} is as in ${file}: ${what}, checked`,
      );
      for (const path of removed)
        note(`deleted ${path}, an unfinished copy that an interrupted backup or restore left`);
    },
  });
}

/** The backup itself does not contain this record, because it was made before. */
async function recordBackup(context: CliContext): Promise<void> {
  await using store = await context.openStore("read");
  const made = { kind: "backup", conversations: null, isRedacted: false, sha256: null, storeId: null } as const;
  const unrecorded = await recordExport(store.log, made);
  if (unrecorded !== null) context.note(`the store did not record the backup: ${unrecorded}`);
}

function sqlitePath(url: string): string {
  const path = sqliteFile(url)?.path ?? "";
  if (path !== "" && path !== ":memory:") return path;
  if (isPostgresAddress(url)) throw new UsageError(postgresBackup(url));
  throw new UsageError(
    `only a sqlite: store is one file, and ${shownUrl(url)} is not: \`turnlog copy\` copies it, and EventStoreDB has backups of its own`,
  );
}

/** The commands of Postgres that were tried; a restored store has the same id, and continues at the same position. */
function postgresBackup(url: string): string {
  const { schema } = parsePostgresAddress(url);
  const server = shownUrl(url).replace(/\?.*/, "");
  return [
    "Postgres backs up its own data:",
    `  pg_dump -Fc -n ${schema} -f turnlog.dump ${server}`,
    "  pg_restore --single-transaction --exit-on-error -d postgres://HOST/NEW turnlog.dump",
    "Then run `turnlog verify` on the new one. Roles do not come along: `turnlog store grants` names their rights",
  ].join("\n");
}

/** A usage error, because the user named the file that is in the way. */
function refusing(work: () => WrittenFile): WrittenFile {
  try {
    return work();
  } catch (error) {
    if (error instanceof TurnlogError && error.code === "file-exists")
      throw new UsageError(error.message, { cause: error });
    throw error;
  }
}
