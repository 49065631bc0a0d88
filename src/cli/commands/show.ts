import { describeActor } from "../../domain/actor.ts";
import type { Turn } from "../../domain/turn.ts";
import type { LoadedPast } from "../../engine/past.ts";
import { contextsOf } from "../../engine/run/contexts.ts";
import type { ServerContext } from "../../projections/server-contexts.ts";
import { timeline } from "../../projections/timeline.ts";
import { type UsageRow, usage } from "../../projections/usage.ts";
import { counted, grouped, shortId } from "../../projections/wording.ts";
import { blockData, turnData, turnRows } from "../block-rows.ts";
import type { CliContext, CommandHandler } from "../context.ts";
import { type FoundPlace, openPlace } from "../open-place.ts";
import { tableLines } from "../table.ts";

/** A conversation at one revision: the Turn, the open run, and what servers hold. */
export const run: CommandHandler = async (context, { arguments: [text = ""] }) => {
  await using store = await context.openStore({ mustExist: true });
  const place = await openPlace(store, text);
  const around = await readAround(place);
  if (context.isJson) printJson(context, place, around);
  else print(context, place, around);
};

/** What other folds tell of the same revision. */
type Around = {
  readonly words: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly usage: readonly UsageRow[];
};

async function readAround({ conversation, past }: FoundPlace): Promise<Around> {
  let times = timeline.initial(conversation.id);
  let costs = usage.initial(conversation.id);
  for await (const recorded of conversation.events()) {
    if (recorded.revision > past.revision) break;
    times = timeline.apply(times, recorded);
    costs = usage.apply(costs, recorded);
  }
  return { words: times.rows.at(-1)?.words ?? "", labels: times.labels, usage: [...costs.rows.values()] };
}

/** How a context stands to the Turn, and what speaks against continuing from it, if anything does. */
type Standing = { readonly relation: "turn" | "last-sent" | "diverged"; readonly problem: string | null };

function standingOf(past: LoadedPast, context: ServerContext, turn: Turn): Standing {
  const problem = context.unusable ?? contextsOf(past.view).invalidation(context)?.reason ?? null;
  const begins = (whole: Turn | undefined): boolean =>
    whole !== undefined && context.length <= whole.length && whole.contextAt(context.length) === context.turn;
  if (begins(turn)) return { relation: "turn", problem };
  const isLastSent = past.run === null && begins(past.view.newest.get(context.scope)?.turn);
  return { relation: isLastSent ? "last-sent" : "diverged", problem };
}

const relationWords: Readonly<Record<Standing["relation"], string>> = {
  turn: "a beginning of the Turn",
  // Layers change the Turn on its way out, so what was sent may be no beginning of what the client keeps.
  "last-sent": "a beginning of what was sent last",
  diverged: "no longer true",
};

/** The Turn that contexts are compared with: in an open run, what the frame of this event works on. */
function workingTurn({ run, turn, event }: LoadedPast): Turn {
  return run === null ? turn : run.turns.working(event.frame ?? "0");
}

function printJson(context: CliContext, { conversation, past }: FoundPlace, { words, usage }: Around): void {
  const { event, revision, run, turn, view } = past;
  const working = workingTurn(past);
  context.printJson({
    conversation: conversation.id,
    revision,
    title: view.title,
    labels: view.labels,
    event: { type: event.event.type, at: event.at, actor: event.actor, runId: event.runId, frame: event.frame, words },
    turn: turnData(turn),
    run:
      run === null
        ? null
        : {
            id: run.id,
            startedRevision: run.startedRevision,
            working: turnData(working),
            ifEndedHere: turnData(run.turns.unfinishedTurn().append(...run.pending)),
            pending: run.pending.map(blockData),
          },
    serverContexts: past.serverContexts.map((held) => ({ ...held, ...standingOf(past, held, working) })),
    usage,
  });
}

function print(context: CliContext, place: FoundPlace, { words, usage, labels }: Around): void {
  const { style } = context;
  const { past, conversation } = place;
  const { event, revision, view, turn, run } = past;
  const print = (lines: readonly string[]): void => {
    for (const line of lines) context.print(line);
  };
  print([
    `${style.bold(`${conversation.id}@${revision}`)}  ${style.dim(event.at.slice(0, 23).replace("T", " "))}`,
    ...(view.title === null ? [] : [view.title]),
    ...tableLines([[describeActor(event.actor), words]], context),
    "",
    style.bold(`Turn: ${counted(turn.length, "block")}`),
    ...tableLines(turnRows(turn, { blame: view.client.blame, style, labels }), context),
  ]);
  if (run !== null) print(["", ...runLines(context, past, labels)]);
  print(["", style.bold("Servers hold"), ...contextLines(context, past)]);
  if (usage.length > 0) print(["", style.bold("Usage"), ...usageLines(context, usage)]);
}

function runLines(context: CliContext, past: LoadedPast, labels: Around["labels"]): readonly string[] {
  const { run, turn, view } = past;
  if (run === null) return [];
  const { style } = context;
  const working = workingTurn(past);
  const from = working.commonPrefixLength(turn);
  const blame = view.client.blame;
  const same = from === 0 ? "" : `, the first ${grouped(from)} as above`;
  return [
    style.bold(
      `Run ${run.id}, open since @${run.startedRevision}: works on ${counted(working.length, "block")}${same}`,
    ),
    ...tableLines(turnRows(working, { blame, style, labels, from }), context),
    ...(run.pending.length === 0 ? [] : [`${counted(run.pending.length, "block")} wait for its end`]),
  ];
}

function contextLines(context: CliContext, past: LoadedPast): readonly string[] {
  const { style } = context;
  const working = workingTurn(past);
  const rows = past.serverContexts.toReversed().map((held) => {
    const { relation, problem } = standingOf(past, held, working);
    const isGood = problem === null && relation !== "diverged";
    return [
      shortId(held.responseId) || "(no id)",
      { text: `@${held.revision}`, style: style.dim },
      counted(held.length, "block"),
      { text: problem ?? relationWords[relation], style: isGood ? style.good : style.dim },
    ];
  });
  return rows.length === 0 ? ["  nothing yet"] : tableLines(rows, context).map((line) => `  ${line}`);
}

const usageLines = (context: CliContext, rows: readonly UsageRow[]): readonly string[] =>
  tableLines(
    rows.map(({ day, model, requests, requestBytes, inputTokens, cachedInputTokens, outputTokens }) => [
      `  ${day}`,
      model,
      counted(requests, "request"),
      `${grouped(requestBytes)} bytes`,
      `${grouped(inputTokens)} tokens in (${grouped(cachedInputTokens)} cached), ${grouped(outputTokens)} out`,
    ]),
    context,
  );
