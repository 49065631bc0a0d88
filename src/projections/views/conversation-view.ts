import { relabel } from "../../domain/decider/labels.ts";
import type { ConversationOrigin } from "../../domain/events/conversation-events.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { isAside } from "../../domain/frame.ts";
import { Turn } from "../../domain/turn.ts";
import { applyToClient, type ClientTurnView, clientTurn } from "../client-turn/client-turn.ts";
import type { RunTurns } from "../client-turn/run-turns.ts";
import { byStream, type Projection } from "../projection.ts";
import { type ServerContext, type ServerContextsView, serverContexts } from "../server-contexts/server-contexts.ts";
import { addUsage, noUsage, type Usage, usageOf } from "../usage.ts";

/** A response of a scope, and its context as a Turn. */
export type LatestAnswer = { readonly context: ServerContext; readonly turn: Turn };

/** The client's and the server's side of a conversation at one revision: planning compares them. */
export type ConversationView = {
  readonly client: ClientTurnView;
  readonly server: ServerContextsView;
  /** The newest response of each scope, and its context as a Turn: to explain why it is not used. */
  readonly newest: Map<string, LatestAnswer>;
  /** The same of the newest response of each scope that may have no id: its prompt may be cached all the same. */
  readonly latest: Map<string, LatestAnswer>;
  /** Tokens that the conversation itself has used, including asides. A fork starts at zero: its parent's tokens were paid once. */
  spent: Usage;
  /** How the conversation began; null before its first event. */
  origin: ConversationOrigin | null;
  title: string | null;
  labels: Readonly<Record<string, string>>;
};

/** Both folds in one, in one read of the events. */
export const conversationView: Projection<ConversationView> = {
  name: "conversation",
  version: 1,
  lineage: "inherit",
  key: byStream,
  initial: (key) => ({
    client: clientTurn.initial(key),
    server: serverContexts.initial(key),
    newest: new Map(),
    latest: new Map(),
    spent: noUsage,
    origin: null,
    title: null,
    labels: {},
  }),
  apply: (view, recorded) => applyToConversation(view, recorded, null),
};

/** The same for an event that this process recorded and applied to the Turns of its run (`applyToClient`). */
export function applyToConversation(
  view: ConversationView,
  recorded: RecordedEvent,
  applied: RunTurns | null,
): ConversationView {
  applyToClient(view.client, recorded, applied);
  serverContexts.apply(view.server, recorded);
  noteNewest(view, recorded);
  noteImported(view, recorded);
  noteWarmedUp(view, recorded);
  noteSpent(view, recorded);
  noteLabels(view, recorded);
  return view;
}

function noteNewest(view: ConversationView, { event, frame: at }: RecordedEvent): void {
  if (event.type !== "ResponseReceived" || isAside(at)) return;
  const context = view.server.contexts.last;
  // The frame may be ahead of this event: layers get an answer before it is durable.
  const turn = view.client.run?.turns.response(event.data.inferenceId) ?? null;
  if (context === undefined || turn === null) return;
  view.latest.set(context.scope, { context, turn });
  if (context.unusable !== "no-id") view.newest.set(context.scope, { context, turn });
}

/** The newest answers that a saved fold has to hold, by scope: those with an id, and of scopes without one, the others. */
export const savedAnswers = ({ newest, latest }: ConversationView): ReadonlyMap<string, LatestAnswer> =>
  new Map([...latest, ...newest]);

/** If the imported context is that of the current Turn, it becomes the newest. */
function noteImported(view: ConversationView, { event }: RecordedEvent): void {
  if (event.type !== "ContextImported") return;
  const context = view.server.contexts.last;
  const { committed: turn } = view.client;
  if (context !== undefined && turn.digest === context.turn) view.newest.set(context.scope, { context, turn });
}

/** The Turn of the last answer is now also held on another connection. */
function noteWarmedUp(view: ConversationView, { event }: RecordedEvent): void {
  if (event.type !== "WarmUpAnswered") return;
  const context = view.server.contexts.ofInference(event.data.inferenceId);
  if (context === null || context.unusable === "no-id" || context.length > context.inputLength) return;
  view.newest.set(context.scope, { context, turn: warmUpTurn(view, context.scope) });
}

/** The Turn that a warm-up sends: only what was already sent to the endpoint, as layers had passed it on. */
export const warmUpTurn = ({ newest }: Pick<ConversationView, "newest">, scope: string): Turn =>
  newest.get(scope)?.turn ?? Turn.empty;

function noteSpent(view: ConversationView, { event }: RecordedEvent): void {
  if (event.type === "ConversationStarted") view.spent = noUsage;
  else if (event.type === "ResponseReceived" || event.type === "WarmUpAnswered")
    view.spent = addUsage(view.spent, usageOf(event.data.usage));
  else if (event.type === "TurnCompacted") view.spent = addUsage(view.spent, usageOf(event.data.window?.usage));
}

function noteLabels(view: ConversationView, { event }: RecordedEvent): void {
  if (event.type === "ConversationStarted") view.origin = event.data.origin;
  if (event.type === "ConversationStarted" || event.type === "ConversationRelabelled") relabel(view, event);
}
