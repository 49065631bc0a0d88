import { utf8Length } from "../base/utf8.ts";
import type { Turn } from "../domain/turn.ts";
import { defineMiddleware, type Layer } from "../engine/middleware.ts";
import { defaultChainPolicy, type PlanRequest, plan } from "../engine/planner/plan.ts";
import { inputItems, shapedBlocks } from "../engine/planner/shaped-input.ts";
import type { Provider, Settings } from "../engine/provider.ts";
import { contextsOf, learnedCapabilities } from "../engine/run/contexts.ts";
import { settingsDigest } from "../engine/run/settings.ts";
import { type ConversationView, conversationView } from "../projections/conversation-view.ts";
import { changeTurn, type DrawnEdit } from "./edits.ts";

/** What the layers of a rehearsal know of the request that comes next, and what they measured of it. */
export type Stage = {
  /** Made to the next request. */
  edit: DrawnEdit | null;
  /** The conversation as its events tell it, up to the run that is open. */
  view: ConversationView;
  /** What the request would cost if it were planned otherwise; UTF-8 bytes of the body. */
  bytesFull: number;
  bytesLastOnly: number;
};

export const emptyStage = (): Stage => ({
  edit: null,
  view: conversationView.initial(""),
  bytesFull: 0,
  bytesLastOnly: 0,
});

/** Makes the edit of the request. One that holds for this request only is taken back on the way out. */
export const editingLayer = (stage: Stage): Layer =>
  defineMiddleware({ name: "rehearsal-edits", version: "1.0.0" }, (next) => async (turn) => {
    const { edit } = stage;
    if (edit === null) return next(turn);
    const edited = changeTurn(turn, edit.change);
    if (!edit.isOnce) return next(edited);
    const kept = new Set(turn.blocks.map(({ id }) => id));
    const result = await next(edited);
    return result.filter((block) => kept.has(block.id) || result.indexOf(block.id ?? NONE) >= edited.length);
  });

/** Plans the same request in the two other ways that a rehearsal compares with. It stands innermost, and changes nothing. */
export const measuringLayer = (stage: Stage, provider: Provider): Layer =>
  defineMiddleware({ name: "rehearsal-measure", version: "1.0.0" }, (next) => async (turn, ctx) => {
    const measured = { turn, settings: ctx.settings, provider, view: stage.view, now: ctx.now() };
    stage.bytesFull += bodyBytes(measured, { full: "policy" });
    stage.bytesLastOnly += bodyBytes(measured, { candidates: "newest" });
    return next(turn);
  });

type Measured = {
  readonly turn: Turn;
  readonly settings: Settings;
  readonly provider: Provider;
  readonly view: ConversationView;
  readonly now: number;
};
