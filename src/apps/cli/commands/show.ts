import { describeOrigin } from "../../../analysis/descriptions/describe-event.ts";
import { describeReason } from "../../../analysis/descriptions/describe-reason.ts";
import { endpointLabel, shortId } from "../../../analysis/descriptions/labels.ts";
import { shownText } from "../../../analysis/descriptions/shown-text.ts";
import { counted, grouped } from "../../../base/counted.ts";
import { excerpt, inOneLine, printable } from "../../../base/printable.ts";
import { describeActor } from "../../../domain/actor.ts";
import { blockFromJson } from "../../../domain/block-json.ts";
import { conversationStream } from "../../../domain/ids.ts";
import { lifeIn } from "../../../log/writer/owner.ts";
import {
  type RunDocument,
  type ServerContextDocument,
  type ShowDocument,
  showDocument,
  type ToldBlock,
} from "../../documents/conversations.ts";
import { ShowFolds } from "../../documents/show-document.ts";
import { blockRow, changedWords, eventPlace, placeName } from "../block-rows.ts";
import { type CommandInput, commandCode } from "../command.ts";
import type { Screen } from "../context.ts";
import { openPlace } from "../find.ts";
import { dateAndTime } from "../shown-time.ts";
import { waitingLines } from "../waiting-lines.ts";

type Options = { readonly full?: boolean };

/** A conversation at one revision: the Turn, the open run, and the contexts of servers. */
export const show = commandCode({
  document: showDocument,

  async *run(context, { arguments: [text = ""] }: CommandInput<Options>) {
    await using store = await context.openStore("read");
    let folds = new ShowFolds("");
    const place = await openPlace(store, text, (own) => {
      const begun = new ShowFolds(own);
      folds = begun;
      return (recorded) => {
        begun.take(recorded);
      };
    });
    const { event, view } = place.past;
    const owner = view.client.run?.owner ?? null;
    const isNow = owner !== null && (await store.events.head(event.stream))?.revision === event.revision;
    yield folds.documentOf(place, isNow ? await lifeIn(store.events, owner) : null);
  },

  render(document, screen, { options: { full = false } }: CommandInput<Options>) {
    const { conversation, revision, title, origin, event, turn, run, serverContexts, usage, budget } = document;
    const { style, print, table } = screen;
    const own = conversationStream(conversation);
    print(`${style.bold(placeName(conversation, revision))}  ${style.dim(dateAndTime(event.at, "millisecond"))}`);
    print(...changedWords(document.changedEvents, own, screen));
    if (title !== null) print(inOneLine(title));
    print(...[describeOrigin(origin) ?? []].flat());
    table([[describeActor(event.actor), event.words]]);
    print("", style.bold(`Turn: ${counted(turn.length, "block")}`));
    renderBlocks(turn, { own, full }, screen);
    if (run !== null) renderRun(run, { document, full }, screen);
    print("", style.bold("Servers hold"));
    renderContexts(serverContexts.toReversed(), { own, full }, screen);
    if (usage.length > 0) print("", style.bold("Usage"));
    table(
      usage.map(({ day, model, requests, requestBytes, inputTokens, cachedInputTokens, outputTokens }) => [
        `  ${day}`,
        model,
        counted(requests, "request"),
        `${grouped(requestBytes)} bytes`,
        `${grouped(inputTokens)} tokens in (${grouped(cachedInputTokens)} cached), ${grouped(outputTokens)} out`,
      ]),
    );
    if (budget !== null) print("", style.bold("Budget of the last run"), ...budgetLines(budget));
  },
});

/** Each limit, and how much of it is used. */
function budgetLines(budget: NonNullable<ShowDocument["budget"]>): readonly string[] {
  const { maxInputTokens, maxTotalTokens, onExceeded, countedTokens, usedTokens } = budget;
  const then = onExceeded === "warn" ? "warns" : "ends";
  const counted = countedTokens === null ? "none counted yet" : `${grouped(countedTokens)} counted of the Turn`;
  return [
    ...(maxInputTokens === null ? [] : [`  ${then} over ${grouped(maxInputTokens)} tokens in a request: ${counted}`]),
    ...(maxTotalTokens === null
      ? []
      : [`  ${then} over ${grouped(maxTotalTokens)} tokens in all: ${grouped(usedTokens)} used`]),
  ];
}

/** The maximum number of characters of a text to show. */
const maxText = 160;
/** Of a longer Turn only the beginning and the end are shown. */
const [maxBlocks, firstBlocks] = [40, 5];
/** The maximum number of contexts to show. */
const maxContexts = 20;

type Shown = { readonly own: string; readonly full: boolean };

function renderBlocks(blocks: readonly ToldBlock[], { own, full }: Shown, screen: Screen): void {
  const { style, print, table } = screen;
  if (full) {
    for (const block of blocks) {
      table([blockRow({ ...block, begins: "" }, own, style)]);
      const text = shownText(blockFromJson(block));
      if (text !== "")
        print(
          ...printable(text)
            .split("\n")
            .map((line) => `      ${line}`),
        );
    }
    return;
  }
  const rowOf = (block: ToldBlock) => {
    const text = shownText(blockFromJson(block));
    const begins = excerpt(text, maxText);
    const isCut = begins.endsWith("…") && begins.length < text.length;
    const told = isCut ? `${begins} (${grouped(text.length)} characters)` : begins;
    return blockRow({ ...block, begins: told }, own, style);
  };
  const folded = Math.max(0, blocks.length - maxBlocks);
  const first = folded === 0 ? blocks.length : firstBlocks;
  table([
    ...blocks.slice(0, first).map(rowOf),
    ...(folded === 0 ? [] : [["", `… ${counted(folded, "block")}: --full shows them`]]),
    ...blocks.slice(first + folded).map(rowOf),
  ]);
}

function renderContexts(newestFirst: readonly ServerContextDocument[], { own, full }: Shown, screen: Screen): void {
  const { print, table } = screen;
  const held = newestFirst.filter((context) => full || isTrue(context));
  const shown = full ? held : held.slice(0, maxContexts);
  // A context without a response id cannot be named.
  const untrue = full ? 0 : newestFirst.filter((context) => !isTrue(context) && context.unusable !== "no-id").length;
  if (newestFirst.length === 0) print("  nothing yet");
  else if (held.length + untrue === 0) print("  no context to continue from");
  const isOfSeveral = new Set(newestFirst.map(({ scope }) => scope)).size > 1;
  table(
    shown.map((context) => [
      ...contextRow(context, own, screen),
      ...(isOfSeveral ? [{ text: endpointLabel(context.scope), style: screen.style.dim }] : []),
    ]),
  );
  if (held.length > shown.length) print(`  ${grouped(held.length - shown.length)} older: --full lists them`);
  if (untrue > 0)
    print(
      `  ${grouped(untrue)} that ${untrue === 1 ? "is" : "are"} no longer true: --full lists ${untrue === 1 ? "it" : "them"}`,
    );
}

function renderRun(
  run: RunDocument,
  { document: { conversation, turn }, full }: { readonly document: ShowDocument; readonly full: boolean },
  screen: Screen,
): void {
  const { style, print } = screen;
  const { id, state, startedRevision, resumptions, working, pending, openCalls, inDoubt, waitingFor, underWay } = run;
  const parted = working.findIndex(({ id: block, digest }, index) => {
    const other = turn[index];
    return other?.id !== block || other.digest !== digest;
  });
  const from = parted < 0 ? working.length : parted;
  const resumed = resumptions === 0 ? "" : `, resumed ${counted(resumptions, "time")}`;
  const same = from === 0 ? "" : `, the first ${grouped(from)} as above`;
  const what = `works on ${counted(working.length, "block")}${same}`;
  print("", style.bold(`Run ${id}, ${state} since @${startedRevision}${resumed}: ${what}`));
  const own = conversationStream(conversation);
  renderBlocks(working.slice(from), { own, full }, screen);
  if (run.owner !== null) print(`  ${ownerWords(run.owner, run, screen)}`);
  for (const { responseId, scope } of underWay)
    print(`  waits for ${printable(responseId)}, which ${endpointLabel(scope)} is making`);
  const waits = new Set(waitingFor.map(({ blockId }) => blockId));
  for (const { blockId, name, isStarted } of openCalls)
    if (!waits.has(blockId))
      print(`  ${isStarted ? "started, not answered" : "not started"}: ${printable(name)}, ${blockId}`);
  for (const { blockId, name } of inDoubt) {
    const reason = waitingFor.find((waiting) => waiting.blockId === blockId)?.reason ?? null;
    const why = reason === null ? "" : ` (${excerpt(reason, 200)})`;
    print(style.warn(`  in doubt: ${printable(name)}${why}, settled by --settle ${blockId}=…`));
  }
  for (const waiting of waitingFor) for (const line of waitingLines(conversation, waiting, screen)) print(line);
  if (pending.length > 0) print(`${counted(pending.length, "block")} wait for its end`);
}

function ownerWords(
  { pid, host, life }: NonNullable<RunDocument["owner"]>,
  { lastEventAt }: RunDocument,
  { commandName }: Screen,
): string {
  const who = `${pid} on ${printable(host)}`;
  switch (life) {
    case null:
      return `its process was ${who}`;
    case "alive":
      return `its process ${who} is alive`;
    case "dead":
      return `its process ${who} is dead: \`${commandName} resume\` continues the run`;
    case "unknown":
      return `its process ${who} has shown no sign of life since ${dateAndTime(lastEventAt, "millisecond")}`;
  }
}

function contextRow(context: ServerContextDocument, own: string, { style }: Screen) {
  const { responseId, length, relation, problem } = context;
  const isGood = isTrue(context);
  return [
    `  ${shortId(responseId) || "(no id)"}`,
    { text: eventPlace(context, own), style: style.dim },
    counted(length, "block"),
    {
      text: problem === null ? relationWords[relation] : describeReason(problem),
      style: isGood ? style.good : style.dim,
    },
  ];
}

const isTrue = ({ relation, problem }: ServerContextDocument): boolean => problem === null && relation !== "diverged";

const relationWords: Readonly<Record<ServerContextDocument["relation"], string>> = {
  turn: "a prefix of the Turn",
  // Layers change the Turn on its way out, so the sent blocks may not be a prefix of the client's Turn.
  "last-sent": "a prefix of the last request",
  diverged: "no longer true",
};
