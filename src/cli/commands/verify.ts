import { readFile } from "node:fs/promises";
import { verification } from "../../audit/verify.ts";
import { readModels } from "../../conversation/read-models.ts";
import { counted, excerpt, printable } from "../../projections/wording.ts";
import { headerLine, headLine, headsBegin, parseHeads, type SavedHeads } from "../../stores/saved-heads.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { verifyDocument } from "../documents/stores.ts";
import { exitCodes, UsageError } from "../exit-codes.ts";
import { findConversations } from "../find.ts";
import { codecsOf } from "../stack-file.ts";
import { writeWholeFile } from "../whole-file.ts";

type Options = { readonly heads?: string; readonly saveHeads?: string; readonly stack?: string };

/** Checks what the store holds, and names the first bad revision of every stream that is damaged. */
export const verify = commandCode({
  document: verifyDocument,

  async *run(context, { arguments: names, options }: CommandInput<Options>) {
    const saved = options.heads === undefined ? null : await readHeads(options.heads);
    await using store = await context.openStore({ mustExist: true });
    const { storeId } = store.events;
    if (saved !== null && saved.storeId !== storeId)
      context.note("the heads were saved from another store than this one");
    const conversations = await findConversations(store, names);
    const progress = context.progress("events verified");
    let seen = 0;
    const { isSound, heads, ...found } = await verification(store.events, {
      codecs: await codecsOf(options.stack),
      onEvent() {
        seen += 1;
        progress.update(seen);
      },
      readModels: store.events.views === undefined ? [] : readModels(store.events),
      ...(names.length === 0 ? {} : { conversations }),
      ...(saved === null ? {} : { savedHeads: saved.heads }),
    });
    progress.end();
    const savedHeads = isSound ? (options.saveHeads ?? null) : null;
    if (savedHeads !== null) await writeHeads(savedHeads, { storeId, heads });
    else if (options.saveHeads !== undefined) context.note("heads not saved: the store is damaged");
    yield { ...found, savedHeads };
    return isSound ? exitCodes.ok : exitCodes.integrity;
  },

  render({ streams, events, requests, problems, skipped, savedHeads }, { style, print, note }) {
    const placeOf = (stream: string, conversation: string | null, revision: number): string =>
      style.bold(printable(`${conversation ?? stream}@${revision}`));
    for (const { stream, conversation, revision, message } of problems)
      print(`${style.bad("damaged")}  ${placeOf(stream, conversation, revision)}  ${printable(message)}`);
    for (const { stream, conversation, revision, reason } of skipped)
      print(`${style.warn("skipped")}  ${placeOf(stream, conversation, revision)}  ${excerpt(reason, 160)}`);
    const what = `${counted(streams, "stream")}, ${counted(events, "event")} and ${counted(requests, "request")} verified`;
    const verdict =
      problems.length === 0 ? style.good("all sound") : style.bad(`${counted(problems.length, "stream")} damaged`);
    print(`${what}: ${verdict}${skipped.length === 0 ? "" : `, ${counted(skipped.length, "event")} skipped`}`);
    if (savedHeads !== null)
      note(`heads saved in ${savedHeads}: keep the file out of reach of those who can write the store`);
  },
});

/** @throws {UsageError} when the file is not one that `--save-heads` wrote, whole. */
async function readHeads(path: string): Promise<SavedHeads> {
  const saved = parseHeads(await readFile(path, "utf8"));
  if (saved === null) throw new UsageError(`${path} holds no heads: name a file that --save-heads wrote`);
  if (saved.unreadable > 0)
    throw new UsageError(`${path} is damaged, ${saved.unreadable} of its lines are no heads: name another file`);
  return saved;
}

/** Replaces the file as a whole: a crash leaves the old heads or the new ones. */
async function writeHeads(path: string, { storeId, heads }: SavedHeads): Promise<void> {
  const pieces = [headerLine(storeId), ...Array.from(heads, ([stream, head]) => headLine(stream, head))];
  await writeWholeFile(path, { name: "file of heads", begin: headsBegin, pieces });
}
