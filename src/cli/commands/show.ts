import type { LoadedPast } from "../../conversation/past.ts";
import { describeActor } from "../../domain/actor.ts";
import type { ConversationOrigin } from "../../domain/events/conversation-events.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { Turn } from "../../domain/turn.ts";
import { contextsOf } from "../../engine/planning/contexts.ts";
import { splitTurn } from "../../engine/planning/instruction-blocks.ts";
import type { ServerContext } from "../../projections/server-contexts.ts";
import { describeEvent, describeOrigin, noLabels, noteLabels } from "../../projections/timeline.ts";
import { type UsageRow, type UsageView, usage } from "../../projections/usage.ts";
import { counted, grouped, inOneLine, shortId } from "../../projections/wording.ts";
import { blockData, turnData, turnRows } from "../block-rows.ts";
import type { CliContext, CommandHandler } from "../context.ts";
import { eventPlace, type FoundPlace, openPlace } from "../open-place.ts";
import { type LastHeard, openRunData, openRunLines } from "../open-run.ts";
import { tableLines } from "../table.ts";

/** A conversation at one revision: the Turn, the open run, and what servers hold. */
export const run: CommandHandler = async (context, { arguments: [text = ""] }) => {
  await using store = await context.openStore({ mustExist: true });
  const folds: OtherFolds[] = [];
  const place = await openPlace(store, text, (own) => {
    const fold = new OtherFolds(own);
    folds[0] = fold;
    return (recorded) => {
      fold.take(recorded);
    };
  });
  const [others = new OtherFolds("")] = folds;
  const { stream, revision } = place.past.event;
  const around = others.around(place.past.event, (await store.events.head(stream))?.revision === revision);
  if (context.isJson) printJson(context, place, around);
  else print(context, place, around);
};

/** What other folds tell of the same revision. */
type ShownSurroundings = {
  readonly words: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly usage: readonly UsageRow[];
  readonly origin: ConversationOrigin;
  readonly heard: LastHeard;
};

/** They read the events that the place is folded from. */
class OtherFolds {
  readonly #own: string;
  readonly #labels = noLabels();
  #costs: UsageView;
  #origin: ConversationOrigin = { type: "new" };
  #heardAt: string | null = null;

  constructor(own: string) {
    this.#own = own;
    this.#costs = usage.initial(own);
  }

  take(recorded: RecordedEvent): void {
    const { event, stream } = recorded;
    const isOwn = stream === this.#own;
    noteLabels(this.#labels, recorded);
    // What the ancestors of a fork cost was paid by them; what models their settings name is known from them.
    if (isOwn || event.type === "SettingsDeclared") this.#costs = usage.apply(this.#costs, recorded);
    if (isOwn && event.type === "ConversationStarted") this.#origin = event.data.origin;
    if (recorded.runId !== null) this.#heardAt = recorded.at;
  }

  around(last: RecordedEvent, isNow: boolean): ShownSurroundings {
    return {
      words: describeEvent(this.#labels, last),
      labels: this.#labels.labels,
      usage: this.#costs.rows,
      origin: this.#origin,
      heard: { at: this.#heardAt ?? last.at, isNow },
    };
  }
}

/** How a context stands to the Turn, and what speaks against continuing from it, if anything does. */
type Standing = { readonly relation: "turn" | "last-sent" | "diverged"; readonly problem: string | null };

/** Tells how each context stands; the digests of the Turns that they are compared with are gathered once. */
function standings(past: LoadedPast, turn: Turn): (context: ServerContext) => Standing {
  const lookup = contextsOf(past.view);
  const beginningsOf = (whole: Turn): ReadonlySet<string> => {
    const { input } = splitTurn(past.view, whole, { systemAs: "instructions" });
    return new Set([...whole.contexts(), ...(input === whole ? [] : input.contexts())].map(({ digest }) => digest));
  };
  const beginnings = beginningsOf(turn);
  const sent = isBetweenRequests(past) ? [...past.view.newest] : [];
  const lastSent = new Map(sent.map(([scope, newest]) => [scope, beginningsOf(newest.turn)]));
  return (context) => {
    const problem = context.unusable ?? lookup.invalidation(context)?.reason ?? null;
    if (beginnings.has(context.turn)) return { relation: "turn", problem };
    const isLastSent = lastSent.get(context.scope)?.has(context.turn) === true;
    return { relation: isLastSent ? "last-sent" : "diverged", problem };
  };
}

const relationWords: Readonly<Record<Standing["relation"], string>> = {
  turn: "a beginning of the Turn",
  // Layers change the Turn on its way out, so what was sent may be no beginning of what the client keeps.
  "last-sent": "a beginning of what was sent last",
  diverged: "no longer true",
};

/** The Turn that contexts are compared with: what an open run goes on from, whichever frame this event is of. */
function workingTurn({ view, turn }: LoadedPast): Turn {
  const turns = view.client.run?.turns;
  return turns === undefined ? turn : turns.get(turns.newest);
}

/** Whether the next request is still to be made, by layers that may make of a Turn what they sent before. */
function isBetweenRequests({ view }: LoadedPast): boolean {
  const asked = view.client.run?.inferences.values() ?? [];
  return [...asked].every(({ isOpen }) => !isOpen);
}

function printJson(context: CliContext, { conversation, past }: FoundPlace, around: ShownSurroundings): void {
  const { words, usage, origin, heard } = around;
  const { event, revision, run, turn, view } = past;
  const working = workingTurn(past);
  const standingOf = standings(past, working);
  context.printJson({
    conversation: conversation.id,
    revision,
    title: view.title,
    labels: view.labels,
    origin,
    event: { type: event.event.type, at: event.at, actor: event.actor, runId: event.runId, frame: event.frame, words },
    turn: turnData(turn),
    run:
      run === null || view.client.run === null
        ? null
        : {
            id: run.id,
            state: run.state,
            startedRevision: run.startedRevision,
            resumptions: run.resumptions,
            ...openRunData(view.client.run, heard),
            working: turnData(working),
            ifEndedHere: turnData(run.ifEndedHere),
            pending: run.pending.map(blockData),
          },
    serverContexts: past.serverContexts.map((held) => ({ ...held, ...standingOf(held) })),
    usage,
  });
}

function print(context: CliContext, place: FoundPlace, around: ShownSurroundings): void {
  const { words, usage, labels, origin } = around;
  const { style } = context;
  const { past, conversation } = place;
  const { event, revision, view, turn, run } = past;
  const print = (lines: readonly string[]): void => {
    for (const line of lines) context.print(line);
  };
  print([
    `${style.bold(`${conversation.id}@${revision}`)}  ${style.dim(event.at.slice(0, 23).replace("T", " "))}`,
    ...(view.title === null ? [] : [inOneLine(view.title)]),
    ...[describeOrigin(origin) ?? []].flat(),
    ...tableLines([[describeActor(event.actor), words]], context),
    "",
    style.bold(`Turn: ${counted(turn.length, "block")}`),
    ...tableLines(turnRows(turn, { blame: view.client.blame, style, labels, stream: event.stream }), context),
  ]);
  if (run !== null) print(["", ...runLines(context, past, around)]);
  print(["", style.bold("Servers hold"), ...contextLines(context, past)]);
  if (usage.length > 0) print(["", style.bold("Usage"), ...usageLines(context, usage)]);
}

function runLines(context: CliContext, past: LoadedPast, { labels, heard }: ShownSurroundings): readonly string[] {
  const { run, turn, view } = past;
  if (run === null || view.client.run === null) return [];
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
    ...tableLines(turnRows(working, { blame, style, labels, from, stream: past.event.stream }), context),
    ...openRunLines(context, view.client.run, heard),
    ...(run.pending.length === 0 ? [] : [`${counted(run.pending.length, "block")} wait for its end`]),
  ];
}

function contextLines(context: CliContext, past: LoadedPast): readonly string[] {
  const { style } = context;
  const standingOf = standings(past, workingTurn(past));
  const rows = past.serverContexts.toReversed().map((held) => {
    const { relation, problem } = standingOf(held);
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
