import { describeActor } from "../../domain/actor.ts";
import { blockFromJson } from "../../domain/block-json.ts";
import { conversationStream } from "../../domain/ids.ts";
import { describeOrigin } from "../../projections/timeline.ts";
import { counted, excerpt, grouped, inOneLine, printable, shortId } from "../../projections/wording.ts";
import { blockRow, eventPlace, placeName } from "../block-rows.ts";
import { commandCode } from "../command.ts";
import type { Screen } from "../context.ts";
import {
  type RunDocument,
  type ServerContextDocument,
  type ShowDocument,
  showDocument,
  type ToldBlock,
} from "../documents/conversations.ts";
import { openPlace } from "../find.ts";
import { ShowFolds } from "../show-document.ts";

/** A conversation at one revision: the Turn, the open run, and what servers hold. */
export const show = commandCode({
  document: showDocument,

  async *run(context, { arguments: [text = ""] }) {
    await using store = await context.openStore({ mustExist: true });
    let folds = new ShowFolds("");
    const place = await openPlace(store, text, (own) => {
      const begun = new ShowFolds(own);
      folds = begun;
      return (recorded) => {
        begun.take(recorded);
      };
    });
    const { stream, revision } = place.past.event;
    yield folds.documentOf(place, (await store.events.head(stream))?.revision === revision);
  },

  render(document, screen) {
    const { conversation, revision, title, origin, event, turn, run, serverContexts, usage } = document;
    const { style, print, table } = screen;
    const own = conversationStream(conversation);
    print(`${style.bold(placeName(conversation, revision))}  ${style.dim(event.at.slice(0, 23).replace("T", " "))}`);
    if (title !== null) print(inOneLine(title));
    print(...[describeOrigin(origin) ?? []].flat());
    table([[describeActor(event.actor), event.words]]);
    print("", style.bold(`Turn: ${counted(turn.length, "block")}`));
    table(turn.map((block) => rowOf(block, own, screen)));
    if (run !== null) renderRun(run, document, screen);
    print("", style.bold("Servers hold"));
    if (serverContexts.length === 0) print("  nothing yet");
    table(serverContexts.toReversed().map((context) => contextRow(context, own, screen)));
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
  },
});

const rowOf = (block: ToldBlock, own: string, { style }: Screen) =>
  blockRow({ ...block, begins: excerpt(blockFromJson(block).text, 160) }, own, style);

function renderRun(run: RunDocument, { conversation, turn }: ShowDocument, screen: Screen): void {
  const { style, print, table } = screen;
  const { id, state, startedRevision, resumptions, working, pending, openCalls, inDoubt } = run;
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
  table(working.slice(from).map((block) => rowOf(block, own, screen)));
  if (run.owner !== null) print(`  ${ownerWords(run.owner, run, screen)}`);
  const doubted = new Set(inDoubt.map(({ blockId }) => blockId));
  for (const { blockId, name, isStarted } of openCalls)
    if (!doubted.has(blockId))
      print(`  ${isStarted ? "begun, and not answered" : "not begun"}: ${printable(name)}, ${blockId}`);
  for (const { blockId, name } of inDoubt)
    print(style.warn(`  in doubt: ${printable(name)}, settled by --settle ${blockId}=…`));
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
      return `its process ${who} is dead: \`${commandName} resume\` takes it up`;
    case "unknown":
      return `its process ${who} is silent since ${lastEventAt.slice(0, 23).replace("T", " ")}`;
  }
}

function contextRow(context: ServerContextDocument, own: string, { style }: Screen) {
  const { responseId, length, relation, problem } = context;
  const isGood = problem === null && relation !== "diverged";
  return [
    `  ${shortId(responseId) || "(no id)"}`,
    { text: eventPlace(context, own), style: style.dim },
    counted(length, "block"),
    { text: problem ?? relationWords[relation], style: isGood ? style.good : style.dim },
  ];
}

const relationWords: Readonly<Record<ServerContextDocument["relation"], string>> = {
  turn: "a beginning of the Turn",
  // Layers change the Turn on its way out, so what was sent may be no beginning of what the client keeps.
  "last-sent": "a beginning of what was sent last",
  diverged: "no longer true",
};
