import { describeActor } from "../../domain/actor.ts";
import type { Origin } from "../../domain/events/conversation-events.ts";
import type { Turn } from "../../domain/turn.ts";
import { contextsOf } from "../../engine/inference/contexts.ts";
import type { LoadedPast } from "../../engine/past.ts";
import { splitTurn } from "../../engine/planner/instruction-blocks.ts";
import type { ServerContext } from "../../projections/server-contexts.ts";
import { describeOrigin, timeline } from "../../projections/timeline.ts";
import { type UsageRow, usage } from "../../projections/usage.ts";
import { counted, grouped, printable, shortId } from "../../projections/wording.ts";
import { blockData, turnData, turnRows } from "../block-rows.ts";
import type { CliContext, CommandHandler } from "../context.ts";
import { eventPlace, type FoundPlace, openPlace } from "../open-place.ts";
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
  readonly origin: Origin;
};

async function readAround({ conversation, past }: FoundPlace): Promise<Around> {
  let times = timeline.initial(conversation.id);
  let origin: Origin = { type: "new" };
  let costs = usage.initial(conversation.id);
  const own = past.event.stream;
  for await (const recorded of conversation.history(past.revision)) {
    times = timeline.apply(times, recorded);
    // What the ancestors of a fork cost was paid by them; what models their settings name is known from them.
    if (recorded.stream === own || recorded.event.type === "SettingsDeclared") costs = usage.apply(costs, recorded);
    const { event } = recorded;
    if (event.type === "ConversationStarted" && recorded.stream === own) origin = event.data.origin;
  }
  return { words: times.rows.at(-1)?.words ?? "", labels: times.labels, usage: costs.rows, origin };
}

/** How a context stands to the Turn, and what speaks against continuing from it, if anything does. */
type Standing = { readonly relation: "turn" | "last-sent" | "diverged"; readonly problem: string | null };

function standingOf(past: LoadedPast, context: ServerContext, turn: Turn): Standing {
  const problem = context.unusable ?? contextsOf(past.view).invalidation(context)?.reason ?? null;
  const isHeld = (input: Turn): boolean =>
    context.length <= input.length && input.contextAt(context.length) === context.turn;
  const begins = (whole: Turn | undefined): boolean =>
    whole !== undefined && (isHeld(whole) || isHeld(splitTurn(past.view, whole, { systemAs: "instructions" }).input));
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
function workingTurn({ run, turn }: LoadedPast): Turn {
  return run === null ? turn : run.working();
}

function printJson(context: CliContext, { conversation, past }: FoundPlace, { words, usage, origin }: Around): void {
  const { event, revision, run, turn, view } = past;
  const working = workingTurn(past);
  context.printJson({
    conversation: conversation.id,
    revision,
    title: view.title,
    labels: view.labels,
    origin,
    event: { type: event.event.type, at: event.at, actor: event.actor, runId: event.runId, frame: event.frame, words },
    turn: turnData(turn),
    run:
      run === null
        ? null
        : {
            id: run.id,
            state: run.state,
            startedRevision: run.startedRevision,
            resumptions: run.resumptions,
            inDoubt: [...run.inDoubt].map(([blockId, name]) => ({ blockId, name })),
            working: turnData(working),
            ifEndedHere: turnData(run.ifEndedHere),
            pending: run.pending.map(blockData),
          },
    serverContexts: past.serverContexts.map((held) => ({ ...held, ...standingOf(past, held, working) })),
    usage,
  });
}

function print(context: CliContext, place: FoundPlace, { words, usage, labels, origin }: Around): void {
  const { style } = context;
  const { past, conversation } = place;
  const { event, revision, view, turn, run } = past;
  const print = (lines: readonly string[]): void => {
    for (const line of lines) context.print(line);
  };
  print([
    `${style.bold(`${conversation.id}@${revision}`)}  ${style.dim(event.at.slice(0, 23).replace("T", " "))}`,
    ...(view.title === null ? [] : [view.title]),
    ...[describeOrigin(origin) ?? []].flat(),
    ...tableLines([[describeActor(event.actor), words]], context),
    "",
    style.bold(`Turn: ${counted(turn.length, "block")}`),
    ...tableLines(turnRows(turn, { blame: view.client.blame, style, labels, stream: event.stream }), context),
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
  const resumed = run.resumptions === 0 ? "" : `, resumed ${counted(run.resumptions, "time")}`;
  const same = from === 0 ? "" : `, the first ${grouped(from)} as above`;
  return [
    style.bold(
      `Run ${run.id}, ${run.state} since @${run.startedRevision}${resumed}: works on ${counted(working.length, "block")}${same}`,
    ),
    ...[...run.inDoubt].map(([id, name]) => style.warn(`  in doubt: ${printable(name)}, settled by --settle ${id}=…`)),
    ...tableLines(turnRows(working, { blame, style, labels, from, stream: past.event.stream }), context),
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
      { text: eventPlace(held, past.event.stream), style: style.dim },
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
