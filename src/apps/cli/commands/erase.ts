import { readFile } from "node:fs/promises";
import { counted } from "../../../base/counted.ts";
import { printable } from "../../../base/printable.ts";
import { TurnlogError } from "../../../base/turnlog-error.ts";
import type { ErasureTargets } from "../../../conversation/conversation-options.ts";
import type { TurnlogStore } from "../../../conversation/turnlog-store.ts";
import { providersOf } from "../../../engine/options/route.ts";
import type { ErasureReason } from "../../../operations/erasure/erase.ts";
import { readSigningKey, signNote } from "../../../operations/erasure/note.ts";
import type { ErasurePlan } from "../../../operations/erasure/plan.ts";
import { receiptBegin, receiptText } from "../../../operations/erasure/receipt.ts";
import { mayContain } from "../../../operations/erasure/receipt-of.ts";
import { eraseDocument } from "../../documents/erasing.ts";
import { erasureOrderDocuments } from "../../documents/erasure-orders.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { exitCodes, shellFailureOf, UsageError } from "../exit-codes.ts";
import { findConversation, findRevision } from "../find.ts";
import { parsePlace } from "../revision.ts";
import { dateAndTime } from "../shown-time.ts";
import { loadEngine } from "../stack-file.ts";
import { checkWholeFile, writeWholeFile } from "../whole-file.ts";

type Options = {
  readonly block?: readonly string[];
  readonly text?: readonly string[];
  readonly subject?: string;
  readonly all?: boolean;
  readonly stack?: string;
  readonly keepStored?: boolean;
  readonly vacuum?: boolean;
  readonly apply?: boolean;
  readonly by?: string;
  readonly ground?: string;
  readonly ticket?: string;
  readonly withSkeleton?: boolean;
  readonly output?: string;
  readonly sign?: string;
  readonly resume?: string;
};

/** Shows what an erasure would do, and does it with --apply. */
export const erase = commandCode({
  document: eraseDocument,

  async *run(context, { arguments: names, options }: CommandInput<Options>) {
    const { apply: isApplied = false, output, sign, resume, stack } = options;
    const isNamed = names.length > 0 || options.text !== undefined || options.subject !== undefined;
    if (resume !== undefined && isNamed)
      throw new UsageError("an order already names its conversations: give --resume ID alone, or only conversations");
    if (resume !== undefined && (stack !== undefined || options.keepStored === true || options.vacuum === true))
      throw new UsageError(
        "--stack, --keep-stored and --vacuum belong to a new erasure: give --resume ID without them (the order says what is kept, and whether to rewrite the file)",
      );
    if (resume === undefined && !isNamed) {
      if (Object.keys(options).length > 0)
        throw new UsageError(
          "nothing to erase is named: give a CONVERSATION, --text or --subject, or an order to continue with --resume ID",
        );
      await using store = await context.openStore("read");
      yield {
        orders: await erasureOrderDocuments(store.events),
        plan: null,
        receipt: null,
        file: null,
        isSigned: false,
      };
      return exitCodes.ok;
    }
    const engine = stack === undefined ? null : await loadEngine(stack, context.settings);
    const reason =
      resume === undefined && isApplied
        ? { ...reasonOf(options), ...(engine === null ? {} : { provider: providersOf(engine.options) }) }
        : null;
    // Checked before anything is erased, so that an invalid key and a file that cannot be written are found first.
    const key = sign === undefined ? null : readKey(sign, await readFile(sign, "utf8"));
    if (output !== undefined && (isApplied || resume !== undefined)) await checkWholeFile(output, receiptFile);
    await using store = await context.openStore(isApplied || resume !== undefined ? "write" : "read", {
      continuing: resume,
    });
    const plan = resume === undefined ? await store.planErasure(await targetsOf(store, names, options)) : null;
    if (plan !== null && reason === null) {
      yield { orders: null, plan: documentOf(plan), receipt: null, file: null, isSigned: false };
      return exitCodes.ok;
    }
    const receipt =
      plan !== null && reason !== null ? await store.erase(plan, reason) : await store.resumeErasure(resume ?? "");
    const text = key === null ? receiptText(receipt) : signNote(receiptText(receipt), key);
    const unwritten = output === undefined ? null : await failureToWrite(output, { text, orderId: receipt.orderId });
    const file = unwritten === null ? (output ?? null) : null;
    yield { orders: null, plan: plan && documentOf(plan), receipt, file, isSigned: key !== null };
    if (unwritten !== null) throw unwritten;
    return receipt.finished ? exitCodes.ok : exitCodes.failure;
  },

  render({ orders, plan, receipt, file, isSigned }, { print, note, style, commandName, table }) {
    if (orders !== null) {
      table(
        orders.map(({ orderId, at, by, ground, conversations, state }) => [
          { text: orderId, style: style.bold },
          { text: dateAndTime(at, "minute"), style: style.dim },
          by,
          ground,
          state,
          conversations.join(", "),
        ]),
      );
      if (orders.length === 0) note("this store has erased nothing");
      return;
    }
    for (const { id, events, blobs, stored, children } of plan?.conversations ?? []) {
      const kept =
        stored === null ? "what servers hold of it is unknown" : `${counted(stored, "thing")} stored by servers`;
      print(
        `${style.bold(id)}  ${counted(events, "event")}, ${counted(blobs.length, "long text")}, ${kept}`,
        ...(children.length === 0 ? [] : [style.dim(`  forks that are not erased: ${children.join(", ")}`)]),
      );
    }
    for (const { id, places, blockIds, stored } of plan?.lines ?? []) {
      const lines = places.reduce((sum, place) => sum + place.lines.length, 0);
      const kept =
        stored === null ? "what servers hold of it is unknown" : `${counted(stored, "thing")} stored by servers`;
      print(
        lines === 0
          ? style.dim(`${id}  nothing itself: it shares a naming key, which is renewed`)
          : `${style.bold(id)}  ${counted(lines, "line")} of ${counted(places.length, "event")}, ${counted(blockIds.length, "block")}, ${kept}`,
      );
    }
    for (const { conversation, revision, block } of plan?.proposed ?? [])
      print(
        style.dim(
          `  not erased, but says parts of it: ${conversation}@${revision}${block === null ? "" : `, block ${block}`}`,
        ),
      );
    if ((plan?.proposed ?? []).some(({ block }) => block !== null))
      note(`\`${commandName} erase CONVERSATION --block ID\` erases one of those that say parts of it`);
    const exports = receipt?.exports ?? plan?.exports ?? [];
    const erased = receipt?.conversations ?? [...(plan?.conversations ?? []), ...(plan?.lines ?? [])];
    const others = exports.filter((each) => !mayContain(each, erased)).length;
    const without = others === 0 ? "" : ` (${counted(others, "redacted bundle")} without any of it)`;
    if (exports.length > 0)
      print(style.warn(`${counted(exports.length, "export")} left the store before and will not change${without}`));
    if (receipt === null) {
      note(`nothing was erased: \`${commandName} erase … --apply --by ALIAS --ground CODE\` does it, for good`);
      return;
    }
    const { done, orderId, leftOver } = receipt;
    print(
      `${receipt.finished ? style.good("erased") : style.warn("erased in part")}: ${counted(done.events, "event")}, ${counted(done.lines, "line")}, ${counted(done.blobEvents, "event")} of long texts, ${counted(done.snapshots, "snapshot")}, ${counted(done.rows, "row")} (order ${orderId})`,
      ...leftOver.map(({ place, reason }) => `  ${style.warn("left over")}  ${place}: ${printable(reason)}`),
    );
    if (file !== null) note(`${isSigned ? "the signed receipt" : "the receipt, unsigned,"} is in ${file}`);
  },
});

const receiptFile = { name: "receipt of an erasure", begin: receiptBegin };

/** Null once the receipt is written. Otherwise what to say: the erasure itself is done by then. */
async function failureToWrite(
  output: string,
  { text, orderId }: { readonly text: string; readonly orderId: string },
): Promise<Error | null> {
  try {
    await writeWholeFile(output, { ...receiptFile, pieces: [text] });
    return null;
  } catch (cause) {
    const { message } = shellFailureOf(cause);
    const advice = `the erasure is done, and \`turnlog erase --resume ${orderId} -o FILE\` writes a receipt of it`;
    return new TurnlogError("receipt-unwritten", `the receipt is not in ${output} (${message}); ${advice}`, { cause });
  }
}

/** What the arguments and options name. */
async function targetsOf(
  store: TurnlogStore,
  names: readonly string[],
  { block: blocks = [], text: files = [], subject, all = false }: Options,
): Promise<ErasureTargets> {
  const conversations: string[] = [];
  const revisions: { readonly conversation: string; readonly revision: number }[] = [];
  for (const name of names) {
    const { conversation: written, at } = parsePlace(name);
    const conversation = await findConversation(store, written);
    if (at.type === "none") conversations.push(conversation.id);
    else {
      const [from, to] = at.type === "one" ? [at.revision, at.revision] : [at.from, at.to];
      const last = await findRevision(store, conversation, to);
      const first = await findRevision(store, conversation, from);
      if (first > last)
        throw new UsageError(`the start must not be after the end: '${name}' goes from ${first} to ${last}`);
      for (let revision = first; revision <= last; revision += 1)
        revisions.push({ conversation: conversation.id, revision });
    }
  }
  if (files.length > 0 && revisions.length > 0)
    throw new UsageError("--text searches whole conversations: name them without a revision");
  if (subject !== undefined && names.length > 0)
    throw new UsageError("--subject finds the conversations of a person in the whole store: name none");
  const [only, ...others] = conversations;
  if (blocks.length > 0 && (only === undefined || others.length > 0 || files.length > 0))
    throw new UsageError("--block needs one conversation, and no --text: name the conversation of the block");
  const texts = await Promise.all(files.map(textIn));
  const named = blocks.map((block) => ({ conversation: only ?? "", block }));
  const isWhole = blocks.length === 0 && texts.length === 0 && conversations.length > 0;
  return {
    ...(isWhole ? { conversations } : {}),
    ...(revisions.length > 0 ? { revisions } : {}),
    ...(named.length > 0 ? { blocks: named } : {}),
    ...(texts.length === 0 ? {} : { texts, ...(conversations.length > 0 ? { in: conversations } : {}) }),
    ...(subject === undefined ? {} : { subject }),
    ...(all ? { all } : {}),
  };
}

/** @throws {UsageError} if the file has no text. */
async function textIn(file: string): Promise<string> {
  const text = (await readFile(file, "utf8")).replace(/\r?\n$/, "");
  if (text === "") throw new UsageError(`${file} is empty: give a file with the text to erase`);
  return text;
}

/** @throws {UsageError} if the options do not say who erases, and why. */
function reasonOf({ by, ground, ticket, withSkeleton = false, keepStored, vacuum }: Options): ErasureReason {
  if (by === undefined || ground === undefined)
    throw new UsageError("an erasure records who ordered it and why: give --by ALIAS and --ground CODE");
  return {
    by,
    ground,
    ...(ticket === undefined ? {} : { ticket }),
    kept: withSkeleton ? "digests" : "skeleton",
    ...(keepStored === true ? { keepStored } : {}),
    ...(vacuum === true ? { vacuum } : {}),
  };
}

function readKey(file: string, text: string) {
  try {
    return readSigningKey(text);
  } catch (cause) {
    throw new UsageError(`${file}: ${cause instanceof Error ? cause.message : "not a signing key"}`, { cause });
  }
}

const documentOf = ({ storeId, conversations, lines, proposed, exports }: ErasurePlan) => ({
  storeId,
  lines: lines.map(({ places, ...each }) => ({
    ...{ ...each, head: { ...each.head }, blobs: [...each.blobs], blockIds: [...each.blockIds] },
    places: places.map((place) => ({ ...place, lines: [...place.lines] })),
  })),
  proposed: proposed.map((each) => ({ ...each })),
  conversations: conversations.map((each) => ({
    ...each,
    head: { ...each.head },
    blobs: [...each.blobs],
    children: [...each.children],
  })),
  exports: exports.map((each) => ({ ...each, conversations: each.conversations && [...each.conversations] })),
});
