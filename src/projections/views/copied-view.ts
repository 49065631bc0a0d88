import { copiedMap, GrowingMap } from "../../base/growing-map.ts";
import type { BlameView } from "../client-turn/blame.ts";
import type { AskedApproval, OpenRun } from "../client-turn/open-run.ts";
import type { ServerContextsView } from "../server-contexts/server-contexts.ts";
import { type ConversationView, conversationView } from "./conversation-view.ts";

/** The view of a conversation before its first event, of which a copy costs little after any event. */
export function copyableView(stream: string): ConversationView {
  const view = conversationView.initial(stream);
  const { client } = view;
  const blame: BlameView = new GrowingMap();
  return { ...view, client: { ...client, blame } };
}

/**
 * A view that goes on by itself: neither it nor the original changes with the other's next events. Turns, blocks and what events said are
 * immutable, and both share them.
 */
export function copiedView(view: ConversationView): ConversationView {
  const { client, server, newest, latest } = view;
  const { run, blame, answers } = client;
  return {
    ...view,
    client: {
      ...client,
      run: run === null ? null : copiedRun(run),
      blame: blame === null ? null : copiedMap(blame),
      answers: { ...answers },
    },
    server: copiedContexts(server),
    newest: new Map(newest),
    latest: new Map(latest),
  };
}

function copiedRun(run: OpenRun): OpenRun {
  const { effects, parked, settled, approvals, turns, frames, removed, pending, inferences, underWay } = run;
  return {
    ...run,
    effects: new Map(effects),
    parked: new Map(parked),
    settled: new Map(settled),
    approvals: new Map([...approvals].map(([id, asked]): [string, AskedApproval] => [id, { ...asked }])),
    turns: turns.copy(),
    frames: frames.copy(),
    removed: new Map(removed),
    pending: [...pending],
    inferences: new Map([...inferences].map(([id, inference]) => [id, { ...inference }])),
    underWay: new Map(underWay),
  };
}

function copiedContexts(server: ServerContextsView): ServerContextsView {
  return {
    ...server,
    contexts: server.contexts.copy(),
    unanswered: new Map(server.unanswered),
    open: new Map(server.open),
    declared: new Map(server.declared),
    settings: new Map(server.settings),
    erasedSettings: new Set(server.erasedSettings),
    invalidResponses: new Map(server.invalidResponses),
    invalidScopes: new Map(server.invalidScopes),
    lostScopes: new Set(server.lostScopes),
    learned: new Map([...server.learned].map(([scope, learned]) => [scope, new Map(learned)])),
    objects: new Map(
      [...server.objects].map(([scope, object]) => [scope, { ...object, exchanges: [...object.exchanges] }]),
    ),
    cutObjects: new Set(server.cutObjects),
    quarantined: new Set(server.quarantined),
  };
}
