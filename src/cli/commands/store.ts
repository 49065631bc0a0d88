import { counted } from "../../projections/wording.ts";
import { backUpStore, type CheckedFile, FileExistsError, restoreStore } from "../../stores/sqlite/backup.ts";
import type { CommandHandler } from "../context.ts";
import { UsageError } from "../exit-codes.ts";
import { flag } from "../options.ts";
import { shownUrl } from "../shown-url.ts";

/** Writes a sqlite store into one file, or puts such a file in its place. */
export const run: CommandHandler = async (context, { arguments: [action = "", file = ""], options }) => {
  if (action !== "backup" && action !== "restore")
    throw new UsageError(`\`turnlog store\` does backup or restore, not '${action}'`);
  const path = sqlitePath(context.storeUrl);
  const force = { force: flag(options, "force") };
  const checked = refusing(() =>
    action === "backup" ? backUpStore(path, file, force) : restoreStore(file, path, force),
  );
  const { storeId, streams, events, bytes } = checked;
  if (context.isJson) {
    context.printJson({ action, file, store: context.storeUrl, storeId, streams, events, bytes });
    return;
  }
  const what = [counted(streams, "stream"), counted(events, "event"), counted(bytes, "byte")].join(", ");
  context.print(action === "backup" ? `${file} holds ${what}, checked` : `${path} is as in ${file}: ${what}, checked`);
};

function sqlitePath(url: string): string {
  const path = url.startsWith("sqlite:") ? url.slice("sqlite:".length) : "";
  if (path !== "" && path !== ":memory:") return path;
  throw new UsageError(
    `only a sqlite: store is one file, and ${shownUrl(url)} is not: \`turnlog copy\` copies it, and EventStoreDB has backups of its own`,
  );
}

/** A file that is in the way was named by whoever typed it. */
function refusing(work: () => CheckedFile): CheckedFile {
  try {
    return work();
  } catch (error) {
    if (error instanceof FileExistsError) throw new UsageError(error.message);
    throw error;
  }
}
