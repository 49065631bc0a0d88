import { describeEvent } from "../../analysis/descriptions/describe-event.ts";
import { labelIn } from "../../analysis/descriptions/labels.ts";
import type { LoadedPast } from "../../analysis/time-travel/past.ts";
import { idOf } from "../../domain/block.ts";
import type { ConversationOrigin } from "../../domain/events/conversation-events.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { Turn } from "../../domain/turn.ts";
import { contextsOf, countedIn } from "../../engine/planning/contexts.ts";
import { splitTurn } from "../../engine/planning/instruction-blocks.ts";
import type { Life } from "../../log/writer/owner.ts";
import { lastChange } from "../../projections/client-turn/blame.ts";
import type { ServerContext } from "../../projections/server-contexts/server-contexts.ts";
import { totalTokens, type UsageView, usage } from "../../projections/usage.ts";
import type { RunDocument, ServerContextDocument, ShowDocument, ToldBlock } from "./conversations.ts";
import type { FoundPlace } from "./found-place.ts";
import { blockDocument, turnDocument } from "./turn-documents.ts";

/** What `turnlog show` adds to the view of a past revision: it reads the same events. */
export class ShowFolds {
  readonly #own: string;
  #costs: UsageView;
  #origin: ConversationOrigin = { type: "new" };
  #heardAt: string | null = null;
  #started: ConversationEventOf<"RunStarted">["data"] | null = null;

  constructor(own: string) {
    this.#own = own;
    this.#costs = usage.initial(own);
  }

  copy(): ShowFolds {
    const copy = new ShowFolds(this.#own);
    // The fold of usage replaces the members of its view, and changes none.
    copy.#costs = { ...this.#costs };
    copy.#origin = this.#origin;
    copy.#heardAt = this.#heardAt;
    copy.#started = this.#started;
    return copy;
  }

  take(recorded: RecordedEvent): void {
    const { event, stream } = recorded;
    const isOwn = stream === this.#own;
    // The cost of a fork's ancestors belongs to them; only their settings are read, which name the models.
    if (isOwn || event.type === "SettingsDeclared") this.#costs = usage.apply(this.#costs, recorded);
    if (isOwn && event.type === "ConversationStarted") this.#origin = event.data.origin;
    if (isOwn && event.type === "RunStarted") this.#started = event.data;
    if (recorded.runId !== null) this.#heardAt = recorded.at;
  }

  /** `life` is that of the open run's owner; null if the place is not the newest event, so that it was not looked up. */
  documentOf(place: FoundPlace, life: Life | null): ShowDocument {
    const { conversation, past, words } = place;
    const { event: recorded, revision, view } = past;
    // It has no other owner, so it need not be frozen.
    const { committed: turn } = view.client;
    const { event, at, actor, runId, frame } = recorded;
    const working = workingTurn(past);
    return {
      conversation: conversation.id,
      revision,
      title: view.title,
      labels: view.labels,
      origin: this.#origin,
      event: { type: event.type, at, actor, runId, frame, words: describeEvent(words, recorded) },
      turn: toldBlocks(place, turn),
      run: this.#runOf(place, working, life),
      serverContexts: contextsOfServers(past, working),
      usage: this.#costs.rows,
      budget: this.#budgetOf(past),
      changedEvents: place.changed,
    };
  }

  #budgetOf({ view }: LoadedPast): ShowDocument["budget"] {
    const { budget, provider } = this.#started ?? {};
    if (budget === undefined || provider === undefined) return null;
    const { maxInputTokens = null, maxTotalTokens = null, onExceeded } = budget;
    const countedTokens = countedIn(view.client.committed, contextsOf(view), provider.scope)?.tokens ?? null;
    return { maxInputTokens, maxTotalTokens, onExceeded, countedTokens, usedTokens: totalTokens(view.spent) };
  }

  #runOf(place: FoundPlace, working: Turn, life: Life | null): RunDocument | null {
    const { run, view, event } = place.past;
    const open = view.client.run;
    if (run === null || open === null) return null;
    const { owner, turns } = open;
    return {
      id: run.id,
      state: run.state,
      startedRevision: run.startedRevision,
      resumptions: run.resumptions,
      owner: owner === null ? null : { host: owner.host, pid: owner.pid, life },
      lastEventAt: this.#heardAt ?? event.at,
      openCalls: turns.openCalls.map((call) => {
        const blockId = idOf(call);
        return { blockId, name: call.name ?? "", isStarted: turns.isToolStarted(blockId) };
      }),
      inDoubt: run.waitingFor.flatMap(({ kind, blockId, name }) => (kind === "doubt" ? [{ blockId, name }] : [])),
      waitingFor: run.waitingFor,
      underWay: [...open.underWay.values()],
      working: toldBlocks(place, working),
      ifEndedHere: turnDocument(run.ifEndedHere),
      pending: run.pending.map(blockDocument),
    };
  }
}

function toldBlocks({ past, words }: FoundPlace, turn: Turn): readonly ToldBlock[] {
  return turn.blocks.map((block, index) => {
    return {
      ...blockDocument(block, index),
      label: labelIn(words.labels, block),
      changed: lastChange(past.blames, block),
    };
  });
}

/** The relation of each context to the Turn; the digests of the compared Turns are collected once. */
function contextsOfServers(past: LoadedPast, turn: Turn): readonly ServerContextDocument[] {
  const lookup = contextsOf(past.view);
  const beginningsOf = (whole: Turn): ReadonlySet<string> => {
    const { input } = splitTurn(past.view, whole, { systemAs: "instructions" });
    return new Set([...whole.contexts(), ...(input === whole ? [] : input.contexts())].map(({ digest }) => digest));
  };
  const beginnings = beginningsOf(turn);
  const sent = isBetweenRequests(past) ? [...past.view.newest] : [];
  const lastSent = new Map(sent.map(([scope, newest]) => [scope, beginningsOf(newest.turn)]));
  const relationOf = (context: ServerContext): ServerContextDocument["relation"] => {
    if (beginnings.has(context.turn)) return "turn";
    return lastSent.get(context.scope)?.has(context.turn) === true ? "last-sent" : "diverged";
  };
  return past.serverContexts.map((context) => ({
    ...context,
    relation: relationOf(context),
    problem: context.unusable ?? lookup.invalidation(context)?.reason ?? null,
  }));
}

/** The Turn that contexts are compared with: the one that an open run continues from, in whatever frame this event is. */
function workingTurn({ view: { client } }: LoadedPast): Turn {
  const turns = client.run?.turns;
  return turns === undefined ? client.committed : turns.get(turns.newest);
}

/** Whether the next request is not made yet: layers may still restore what they sent before. */
function isBetweenRequests({ view }: LoadedPast): boolean {
  const asked = view.client.run?.inferences.values() ?? [];
  return [...asked].every(({ isOpen }) => !isOpen);
}
