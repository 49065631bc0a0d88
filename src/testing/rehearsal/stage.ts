import { Block } from "../../domain/block.ts";
import { plainNames } from "../../domain/block-names.ts";
import type { Turn } from "../../domain/turn.ts";
import { buildRequest, newRequest } from "../../engine/planning/build-request.ts";
import { learnedCapabilities } from "../../engine/planning/contexts.ts";
import type { PlanRequest } from "../../engine/planning/plan-request.ts";
import type { Settings } from "../../engine/ports/codec.ts";
import { defineMiddleware, type Layer } from "../../engine/ports/middleware.ts";
import type { Provider } from "../../engine/ports/provider.ts";
import { type ConversationView, conversationView } from "../../projections/views/conversation-view.ts";
import { type DrawnEdit, editTurn } from "./edits.ts";

/** What the layers of a rehearsal know about the next request, and what they measured of it. */
export type Stage = {
  /** The edit before the next request. */
  edit: DrawnEdit | null;
  /** Its conversation's stream. */
  stream: string;
  /** The conversation from its events, up to the open run. */
  view: ConversationView;
  /** What the requests so far would have cost if each were planned in another way, in UTF-8 bytes of the bodies. */
  bytesFull: number;
  bytesLastOnly: number;
};

export const emptyStage = (): Stage => ({
  edit: null,
  stream: "",
  view: conversationView.initial(""),
  bytesFull: 0,
  bytesLastOnly: 0,
});

/** Makes the edit of the request. An insertion for this request only is removed on the way out. */
export const editingLayer = (stage: Stage): Layer =>
  defineMiddleware({ name: "rehearsal-edits", version: "1.0.0" }, (next) => async (turn) => {
    const { edit } = stage;
    if (edit === null) return next(turn);
    const edited = editTurn(turn, edit.change);
    if (!edit.isOnce) return next(edited);
    const inserted = edited.blocks.filter(({ id }) => id !== null && turn.indexOf(id) < 0);
    return (await next(edited)).remove(...inserted);
  });

/** Plans each request in the two ways that a rehearsal compares with. It is the innermost layer, and changes nothing. */
export const measuringLayer = (stage: Stage, provider: Provider): Layer =>
  defineMiddleware({ name: "rehearsal-measure", version: "1.0.0" }, (next) => async (turn, ctx) => {
    const { view, stream } = stage;
    const measured = { turn, settings: ctx.settings, provider, view, stream, now: ctx.now() };
    stage.bytesFull += bodyBytes(measured, { full: "policy" });
    stage.bytesLastOnly += bodyBytes(measured, { candidates: "newest" });
    return next(turn);
  });

type Measured = {
  readonly turn: Turn;
  readonly settings: Settings;
  readonly provider: Provider;
  readonly view: ConversationView;
  readonly stream: string;
  /** Milliseconds since 1970. */
  readonly now: number;
};

/** The size of a request's body if it is planned in this way. */
const bodyBytes = (
  { turn, settings, provider, view, stream, now }: Measured,
  way: Pick<PlanRequest, "full" | "candidates">,
): number => {
  const capabilities = learnedCapabilities(provider, view);
  const [first] = turn.blocks;
  const names = (first && Block.namesOf(first)) ?? plainNames;
  const asking = { endpoint: provider, capabilities, connection: provider.connection?.(stream, capabilities), ...way };
  return buildRequest(
    // Blocks sent as instructions are included.
    newRequest(view, turn, { ...asking, settings: () => settings, names, now: new Date(now).toISOString() }),
  ).bytes;
};
