import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { counted, grouped } from "../../../base/counted.ts";
import { printable } from "../../../base/printable.ts";
import type { TurnlogStore } from "../../../conversation/turnlog-store.ts";
import { type Allowance, AllowanceCheck, noAllowance, readAllowance } from "../../../replay/regression/allowance.ts";
import { chosenConversations } from "../../../replay/regression/chosen-conversations.ts";
import type { ConversationRegression } from "../../../replay/regression/conversation-result.ts";
import { culpritName } from "../../../replay/regression/culprit.ts";
import { RegressionSum } from "../../../replay/regression/summary.ts";
import { type RegressionDocument, regressionDocument } from "../../documents/regression.ts";
import { type CommandInput, commandCode } from "../command.ts";
import type { CliContext } from "../context.ts";
import { type ExitCode, exitCodes, shellFailureOf, UsageError } from "../exit-codes.ts";
import { findConversation } from "../find.ts";
import { openBundle } from "../open-bundle.ts";
import { checkedPrices } from "../price-files.ts";
import type { RegressTask } from "../regress/messages.ts";
import { reportsTo } from "../regress/reports.ts";
import { summaryWords } from "../regress/summary-words.ts";
import { compareInThreads } from "../regress/thread-pool.ts";

type Options = {
  readonly with?: string;
  readonly stack?: string;
  readonly without?: string;
  readonly all?: boolean;
  readonly label?: Readonly<Record<string, string>>;
  readonly since?: string;
  readonly sample?: number;
  readonly bundle?: string;
  readonly jobs?: number;
  readonly recordedPolicies?: boolean;
  readonly strict?: boolean;
  readonly allow?: string;
  readonly prices?: string;
  readonly priceAs?: Readonly<Record<string, string>>;
  readonly junit?: string;
  readonly markdown?: string;
  readonly report?: string;
  readonly bisect?: boolean;
};

/** Where differences are allowed that somebody has looked at. */
const allowanceFile = "turnlog.allow.json";

/** How many conversations that differ the document lists. */
const maxListed = 100;

/** Compares what a changed stack would do to recorded conversations with what happened. */
export const regress = commandCode({
  document: regressionDocument,

  async *run(context, { arguments: names, options: given }: CommandInput<Options>) {
    const { bisect = false } = given;
    try {
      const options = context.settings.prices(given);
      checkOptions(options, names);
      const document = await compareAll(context, names, options);
      yield document;
      const code = exitCodeOf(document, options);
      return bisect && code !== exitCodes.ok && code !== exitCodes.replay ? exitCodes.untestable : code;
    } catch (error) {
      if (!bisect) throw error;
      context.note(`turnlog: ${shellFailureOf(error).message}`);
      return exitCodes.untestable;
    }
  },

  render(document, { style, print, table }) {
    const { allowance, unknown, differs, culprits, isComplete } = document;
    const isSame = document.changed + document.added + document.ends === 0;
    const words = summaryWords(document);
    print(isSame ? style.good(words) : style.bold(words));
    if (culprits.length > 1)
      table(
        culprits.map(({ name, conversations, requests }) => [
          `  ${printable(name)}`,
          counted(conversations, "conversation"),
          counted(requests, "request"),
        ]),
      );
    table(
      differs
        .slice(0, maxShown)
        .map(({ conversation, changed, first }) => [
          { text: conversation, style: style.bold },
          counted(changed, "request"),
          printable(first),
        ]),
    );
    if (document.differing > maxShown) print(`and ${grouped(document.differing - maxShown)} more conversations`);
    const reasons = Object.entries(unknown);
    if (reasons.length > 0) {
      const all = reasons.map(([reason, requests]) => `${grouped(requests)} (${reason})`).join(", ");
      print(`${style.bold("unknown from here")}: ${all}`);
    }
    if (allowance.file !== null && document.differing > 0)
      print(
        `${printable(allowance.file)} allows ${counted(allowance.allowed, "conversation")}${beyondWords(allowance)}`,
      );
    for (const { conversation, culprit } of allowance.unused)
      print(
        `${printable(allowance.file ?? "")} allows what no longer differs: ${printable(culprit)} in ${printable(conversation)}`,
      );
    if (!isComplete) print(style.bad("interrupted: only a part was compared"));
  },
});

function beyondWords({ isWithin, beyond }: RegressionDocument["allowance"]): string {
  if (beyond.conversations === 0) return "";
  if (isWithin) return "; the rest is within its budget";
  return `; ${counted(beyond.conversations, "conversation")} ${beyond.conversations === 1 ? "differs" : "differ"} beyond it`;
}

/** How many conversations the text lists. */
const maxShown = 10;

function checkOptions(
  { with: changed, stack, without, all = false, label, since, sample, ...more }: Options,
  names: readonly string[],
): void {
  if (changed === undefined && without === undefined)
    throw new UsageError("name the changed stack with --with FILE, or a layer to leave out with --without LAYER");
  if (changed !== undefined && without !== undefined)
    throw new UsageError("--without leaves a layer out of the --stack: give --with or --without, not both");
  if (without !== undefined && stack === undefined)
    throw new UsageError("--without needs --stack FILE: the log has what layers did, but not their code");
  const isFiltered = label !== undefined || since !== undefined || sample !== undefined || more.bundle !== undefined;
  if (names.length === 0 && !all && !isFiltered)
    throw new UsageError("name conversations, or choose them with --all, --label, --since or --sample");
  if (names.length > 0 && all) throw new UsageError("give conversations or --all, not both");
  checkedPrices(more);
}

async function compareAll(
  context: CliContext,
  names: readonly string[],
  options: Options,
): Promise<RegressionDocument> {
  const { bundle, jobs = 1, allow } = options;
  const { signal } = context;
  const allowance = await allowanceOf(allow);
  await using store = bundle === undefined ? await context.openStore("read") : await openBundle(bundle);
  const before = await store.events.end?.();
  const ids = await idsOf(store, names, options);
  await using reports = reportsTo(options);
  const [sum, check] = [new RegressionSum(), new AllowanceCheck(allowance.allowance)];
  const differs: RegressionDocument["differs"][number][] = [];
  const noteOnce = noterOnce(context);
  const done = await context.progress("conversations compared", async (onProgress) => {
    let compared = 0;
    const pool = {
      task: taskOf(context, options),
      jobs,
      signal,
      onPrinted: (text: string) => printedBy(context, text),
    };
    for await (const result of compareInThreads(ids, pool)) {
      compared += 1;
      onProgress(compared, ids.length);
      sum.add(result);
      check.add(result);
      reports.add(result);
      noteOnce(result);
      const { conversation, changed, first } = result;
      if (first !== null && differs.length < maxListed)
        differs.push({ conversation, changed, first: culpritName(first) });
    }
    return compared;
  });
  const verdict = check.verdict();
  const document: RegressionDocument = {
    ...{ with: options.with ?? null, stack: options.stack ?? null, without: options.without ?? null },
    ...sum.result(done === ids.length),
    allowance: { file: allowance.file, ...verdict },
    differs,
  };
  await reports.end(document);
  if ((await store.events.end?.()) !== before)
    context.note("the store was written to meanwhile: conversations were compared as they were when each was read");
  return document;
}

/** Prints why a conversation is unknown; what is the same for many, as a server that is down, once. */
function noterOnce(context: CliContext): (result: ConversationRegression) => void {
  const noted = new Set<string>();
  return ({ conversation, message }) => {
    if (message === null || noted.has(message) || noted.size === maxListed) return;
    noted.add(message);
    context.note(`${conversation}: ${printable(message)}`);
  };
}

async function allowanceOf(
  path: string | undefined,
): Promise<{ readonly file: string | null; readonly allowance: Allowance }> {
  const file = path ?? (existsSync(allowanceFile) ? allowanceFile : null);
  if (file === null) return { file, allowance: noAllowance };
  return { file, allowance: readAllowance(await readFile(file, "utf8"), file) };
}

async function idsOf(store: TurnlogStore, names: readonly string[], options: Options): Promise<readonly string[]> {
  const { label: labels, since, sample } = options;
  const conversations: string[] = [];
  for (const name of names) conversations.push((await findConversation(store, name)).id);
  const chosen = {
    ...(names.length === 0 ? {} : { conversations }),
    ...(labels === undefined ? {} : { labels }),
    ...(since === undefined ? {} : { since }),
    ...(sample === undefined ? {} : { sample }),
  };
  const ids: string[] = [];
  for await (const id of chosenConversations(store, chosen)) ids.push(id);
  return ids;
}

function taskOf({ storeUrl, config }: CliContext, options: Options): RegressTask {
  const {
    stack = null,
    without = null,
    bundle = null,
    recordedPolicies = false,
    prices = null,
    priceAs = null,
  } = options;
  return {
    ...{ store: bundle === null ? storeUrl : null, bundle, without, recordedPolicies, prices, priceAs },
    ...{ config, with: options.with ?? stack ?? "", compareWith: without === null ? stack : null, isOtherWorld: false },
  };
}

/** What a module prints is no part of the answer. */
function printedBy(context: CliContext, text: string): void {
  for (const line of text.split("\n")) if (line.trim() !== "") context.note(printable(line));
}

function exitCodeOf(document: RegressionDocument, { strict = false }: Options): ExitCode {
  const { allowance, isComplete, compared, conversations, unknown } = document;
  if (!isComplete) return exitCodes.interrupted;
  if (!allowance.isWithin) return exitCodes.replay;
  if (conversations === 0 || compared === 0) return exitCodes.notFound;
  return strict && Object.keys(unknown).length > 0 ? exitCodes.replay : exitCodes.ok;
}
