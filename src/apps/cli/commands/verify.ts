import { readFile } from "node:fs/promises";
import * as z from "zod";
import { counted } from "../../../base/counted.ts";
import { excerpt, printable } from "../../../base/printable.ts";
import { readModels } from "../../../conversation/read-models.ts";
import { verification } from "../../../operations/audit/verify.ts";
import { headerLine, headLine, headsBegin, parseHeads, type SavedHeads } from "../../../stores/saved-heads.ts";
import { bundleDocument, receiptDocument } from "../../documents/erasing.ts";
import { verifyDocument } from "../../documents/stores.ts";
import { isUnchecked, verifyDocumentOf } from "../../documents/verify-document.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { exitCodes, UsageError } from "../exit-codes.ts";
import { findConversations } from "../find.ts";
import { codecsOf } from "../stack-file.ts";
import { writeWholeFile } from "../whole-file.ts";

type Options = {
  readonly heads?: string;
  readonly saveHeads?: string;
  readonly stack?: string;
  readonly receipt?: string;
  readonly bundle?: string;
  readonly key?: string;
};

/** Checks the store, and names the first bad revision of every damaged stream. */
export const verify = commandCode({
  document: z.union([verifyDocument, receiptDocument, bundleDocument]),

  async *run(context, { arguments: names, options }: CommandInput<Options>) {
    const { receipt, bundle, key } = options;
    checkOptions(names, options);
    if (bundle !== undefined) {
      const { verifyBundle } = await import("../../../operations/transfer/verify-bundle.ts");
      const { readBundle } = await import("../open-bundle.ts");
      const { heads, ...found } = await readBundle(bundle, verifyBundle);
      yield { bundleFile: bundle, streams: heads.length, ...found };
      return exitCodes.ok;
    }
    if (receipt !== undefined) {
      const { verifiedReceipt } = await import("./verify-receipt.ts");
      yield await verifiedReceipt(context, { receipt, ...(key === undefined ? {} : { key }) });
      return exitCodes.ok;
    }
    const saved = options.heads === undefined ? null : await readHeads(options.heads);
    await using store = await context.openStore("read");
    const { storeId } = store.events;
    if (saved !== null && saved.storeId !== storeId)
      context.note("the heads were saved from another store than this one");
    const conversations = await findConversations(store, names);
    const asked = {
      codecs: await codecsOf(options.stack, context.settings),
      readModels: store.events.views === undefined ? [] : readModels(store.events),
      ...(names.length === 0 ? {} : { conversations }),
      ...(saved === null ? {} : { savedHeads: saved.heads }),
    };
    let seen = 0;
    const { isSound, heads, ...found } = await context.progress("events verified", (update) =>
      verification(store.events, {
        ...asked,
        onEvent() {
          seen += 1;
          update(seen);
        },
      }),
    );
    const savedHeads = isSound ? (options.saveHeads ?? null) : null;
    if (savedHeads !== null) await writeHeads(savedHeads, { storeId, heads });
    else if (options.saveHeads !== undefined) context.note("heads not saved, because the store is not sound");
    yield verifyDocumentOf({ isSound, ...found }, { savedHeads, commandName: context.commandName });
    if (isSound) return exitCodes.ok;
    return found.problems.every(isUnchecked) ? exitCodes.failure : exitCodes.integrity;
  },

  render(document, { style, print, note }) {
    if ("bundleFile" in document) {
      const { bundleFile, isRedacted, streams, events, unchecked } = document;
      const what = isRedacted ? "is a redacted bundle, and" : "is a bundle, and";
      print(`${bundleFile} ${what} is as it was written: ${counted(events, "event")} of ${counted(streams, "stream")}`);
      if (unchecked > 0) note(`the texts of ${counted(unchecked, "event")} in json cannot be checked`);
      return;
    }
    if ("receiptFile" in document) {
      const { receiptFile, orderId, finished, signedBy, isNewest } = document;
      const by = signedBy === null ? "matches one that the store recorded" : `was signed by ${signedBy}`;
      print(
        `${receiptFile} ${by}: order ${orderId}, ${finished ? "finished" : style.warn("not everything was erased")}`,
      );
      if (isNewest === false) note("the order was continued since: the store has a newer receipt of it");
      return;
    }
    const { streams, events, requests, problems, skipped, savedHeads } = document;
    const placeOf = (stream: string, conversation: string | null, revision: number): string =>
      style.bold(printable(`${conversation ?? stream}@${revision}`));
    for (const { stream, conversation, revision, kind, message, next } of problems) {
      const what = isUnchecked({ kind }) ? style.warn("not checked") : style.bad("damaged");
      print(`${what}  ${placeOf(stream, conversation, revision)}  ${printable(message)}`, style.dim(`  ${next}`));
    }
    for (const { stream, conversation, revision, problem, reason } of skipped)
      print(
        `${style.warn("skipped")}  ${placeOf(stream, conversation, revision)}  ${excerpt(reason, 160)} (${excerpt(problem, 160)})`,
      );
    const what = `${counted(streams, "stream")}, ${counted(events, "event")} and ${counted(requests, "request")} verified`;
    const unchecked = problems.filter(isUnchecked).length;
    const damaged = problems.length - unchecked;
    const verdicts = [
      ...(problems.length === 0 ? [style.good(skipped.length === 0 ? "all sound" : "all else sound")] : []),
      ...(damaged === 0 ? [] : [style.bad(`${counted(damaged, "stream")} damaged`)]),
      ...(unchecked === 0 ? [] : [style.warn(`requests of ${counted(unchecked, "stream")} not checked`)]),
    ];
    const verdict = verdicts.join(", ");
    print(`${what}: ${verdict}${skipped.length === 0 ? "" : `, ${counted(skipped.length, "event")} skipped`}`);
    if (savedHeads !== null)
      note(`heads saved in ${savedHeads}: keep the file out of reach of those who can write the store`);
  },
});

/** @throws {UsageError} for options that another one makes void: an auditor would take them for checked. */
function checkOptions(names: readonly string[], { receipt, bundle, key, heads, saveHeads, stack }: Options): void {
  if (key !== undefined && receipt === undefined)
    throw new UsageError("--key checks who signed a receipt: give --receipt FILE as well");
  if (receipt !== undefined && bundle !== undefined)
    throw new UsageError("--receipt and --bundle are two checks: give one of them");
  const isOfStore = names.length > 0 || heads !== undefined || saveHeads !== undefined || stack !== undefined;
  if (isOfStore && (receipt !== undefined || bundle !== undefined))
    throw new UsageError(
      "--receipt and --bundle check a file: give them without conversations, --heads, --save-heads and --stack",
    );
}

/** @throws {UsageError} if the file is not a complete one from `--save-heads`. */
async function readHeads(path: string): Promise<SavedHeads> {
  const saved = parseHeads(await readFile(path, "utf8"));
  if (saved === null) throw new UsageError(`${path} holds no heads: name a file that --save-heads wrote`);
  if (saved.unreadable > 0)
    throw new UsageError(`${path} is damaged: ${saved.unreadable} of its lines are not heads; name another file`);
  return saved;
}

/** Replaces the file as a whole: a crash leaves the old heads or the new ones. */
async function writeHeads(path: string, { storeId, heads }: SavedHeads): Promise<void> {
  const pieces = [headerLine(storeId), ...Array.from(heads, ([stream, head]) => headLine(stream, head))];
  await writeWholeFile(path, { name: "file of heads", begin: headsBegin, pieces });
}
