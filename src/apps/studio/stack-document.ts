import { describeReason } from "../../analysis/descriptions/describe-reason.ts";
import { labelIn } from "../../analysis/descriptions/labels.ts";
import { conversationOfStream } from "../../domain/ids.ts";
import { equalBeginning } from "../../domain/turn-difference.ts";
import { contextsOf } from "../../engine/planning/contexts.ts";
import { withoutFirst } from "../../engine/planning/instruction-blocks.ts";
import type { ServerContext } from "../../projections/server-contexts/server-contexts.ts";
import { bannerOf, nothingSent, nothingSentByFork, notSentYet } from "./banner.ts";
import { fitting, lazily } from "./by-bytes.ts";
import type { Reel } from "./reel.ts";
import type { Banner, HeldContext, StackDocument, StackLayer } from "./stack-documents.ts";
import { beginningOf, rowDocument, stackRows } from "./stack-rows.ts";
import { msOf, type Step } from "./step.ts";
import { firstFrom, stepAt } from "./step-at.ts";

export type StackWindow = {
  /** The place of the first row, and how many rows. */
  readonly from: number;
  readonly n: number;
  /** Folds that the reader opened, by the index of their first block. */
  readonly opened: ReadonlySet<number>;
};

/** The most contexts that the line below the stack names. */
const mostContexts = 4;

/** The stack that a revision belongs to. */
export function stackDocument(reel: Reel, revision: number, window: StackWindow): StackDocument {
  const step = stepAt(reel, revision);
  const about = { conversation: reel.id, revision };
  if (step === null) return { ...about, ...unsent(reel, revision, window) };
  const { data, outcome, outgoing } = step;
  const { labels } = reel;
  const rows = stackRows(step, window.opened);
  const revisionOf = (layer: number, id: string): number | null => editOf(reel, step, { layer, id });
  const { contexts, more } = contextsAt(reel, step);
  const { anchor, sendFrom } = data.decision;
  return {
    ...about,
    banner: bannerOf(reel, step),
    client: { blocks: step.client.length, revision: Math.max(0, step.runStart - 1) },
    layers: layersOf(reel, step),
    request: {
      ...{
        place: firstFrom(reel.steps, step.revision),
        revision: step.revision,
        verdict: step.verdict,
        model: step.model,
        bytes: data.requestBytes,
      },
      blocks: data.input.blocks,
      blocksSent: data.input.blocks - sendFrom,
      heldBytes: step.heldBytes,
      anchor: anchor === null ? null : { id: anchor.id, blocks: anchor.length },
    },
    answer: outcome && {
      ...{ revision: outcome.revision, isFailure: outcome.isFailure, words: outcome.words },
      ...{ tokens: outcome.tokens?.output ?? null, ms: msOf(step) ?? 0 },
      blocks: outcome.blocks.map((block, place) => ({
        index: outgoing.length + place,
        label: labelIn(labels.labels, block),
        text: beginningOf(block),
      })),
    },
    rows: fitting(
      lazily(rows.slice(window.from, window.from + window.n), (row) => rowDocument(row, { labels, revisionOf })),
    ),
    ...{ from: window.from, total: rows.length, contexts, moreContexts: more },
  };
}

/** Before the first request, or behind the newest one: what the client has, and nothing that was sent. */
function unsent(
  reel: Reel,
  revision: number,
  { from, n }: StackWindow,
): Omit<StackDocument, "conversation" | "revision"> {
  const turn = reel.turns[revision];
  const blocks = turn?.blocks ?? [];
  return {
    banner: unsentBanner(reel, blocks.length),
    client: { blocks: blocks.length, revision },
    ...{ layers: [], request: null, answer: null, from, total: blocks.length, contexts: [], moreContexts: 0 },
    rows: blocks.slice(from, from + n).map((block, place) => ({
      kind: "block",
      ...{ id: block.id ?? "", index: from + place, label: labelIn(reel.labels.labels, block) },
      ...{ client: beginningOf(block), edits: [], request: null, characters: block.text.length },
    })),
  };
}

function unsentBanner({ steps, view }: Reel, blocks: number): Banner {
  const newest = steps.at(-1);
  if (newest !== undefined) return notSentYet(newest);
  return view.server.contexts.all.length > 0 ? nothingSentByFork() : nothingSent(blocks);
}

function layersOf({ layers }: Reel, { passes, data }: Step): readonly StackLayer[] {
  return passes.map(({ name, version, given, handedOn, frame }, place) => ({
    ...{ number: place + 1, name, version, isOwn: layers.get(name) === true },
    changed: given === handedOn ? 0 : changedBlocks(given, handedOn),
    ms: data.timings?.find((timing) => timing.layer === name && isCallOf(timing.frame, frame))?.ms ?? null,
  }));
}

/** A layer's own frame calls the frame that its edits name. */
const isCallOf = (own: string, called: string): boolean => called === own || called.startsWith(`${own}.`);

function changedBlocks(given: Step["client"], handedOn: Step["client"]): number {
  const shared = given.commonPrefixLength(handedOn);
  const [before, after] = [given.after(shared), handedOn.after(shared)];
  const known = new Map(before.map((block) => [block.id, block.recordedAs]));
  const kept = new Set(after.map(({ id }) => id));
  const changed = after.filter((block) => known.get(block.id) !== block.recordedAs).length;
  return changed + before.filter(({ id }) => id !== null && !kept.has(id)).length;
}

/** The newest event by which a layer touched a block on the way to a request. */
function editOf(
  { rows, touched }: Reel,
  step: Step,
  { layer, id }: { readonly layer: number; readonly id: string },
): number | null {
  const name = step.passes[layer - 1]?.name;
  for (let revision = step.revision - 1; revision >= step.runStart; revision -= 1) {
    if (rows.mark(revision)?.editor === name && touched.get(revision)?.has(id) === true) return revision;
  }
  return null;
}

/** What servers held when the request was planned, newest first. */
function contextsAt({ view }: Reel, step: Step): { readonly contexts: readonly HeldContext[]; readonly more: number } {
  const { all } = view.server.contexts;
  const known = Math.min(step.contexts, all.length);
  const shown: ServerContext[] = [];
  for (let place = known - 1; place >= 0 && shown.length < mostContexts; place -= 1) {
    const context = all[place];
    if (context?.scope === step.data.scope) shown.push(context);
  }
  const lookup = contextsOf(view);
  const anchor = step.data.decision.anchor?.inferenceId ?? null;
  const contexts = shown.map((context): HeldContext => {
    const isAnchor = context.inferenceId === anchor;
    const lost = context.unusable ?? lostBefore(lookup.invalidation(context), step);
    const [verdict, isBad] = isAnchor ? ["continued from here", false] : verdictOn(step, context, lost);
    return {
      ...{
        responseId: context.responseId,
        revision: context.revision,
        blocks: context.length,
        isAnchor,
        isBad,
        verdict,
      },
      conversation: conversationOfStream(context.stream) ?? context.stream,
      state: lost === null ? "confirmed" : lost === "expired" ? "expired" : "unknown",
    };
  });
  return { contexts, more: known - shown.length };
}

/** The newest fold also knows what was lost after this request. */
const lostBefore = (
  lost: { readonly reason: string; readonly revision: number } | null,
  { revision }: Step,
): string | null => (lost === null || lost.revision > revision ? null : lost.reason);

function verdictOn(
  step: Step,
  context: { readonly inferenceId: string; readonly length: number },
  lost: string | null,
): readonly [string, boolean] {
  if (lost !== null) return [describeReason(lost), true];
  const { newest, outgoing } = step;
  if (newest?.context.inferenceId !== context.inferenceId) return ["holds less", false];
  const held = withoutFirst(newest.context, newest.turn, newest.turn.length - newest.context.length);
  const skipped = outgoing.length - step.data.input.blocks;
  const equal = equalBeginning(newest.turn, outgoing);
  return equal >= held.length + (newest.turn.length - held.length)
    ? ["holds a beginning of it", false]
    : [`differs at block ${Math.max(equal, skipped)}`, true];
}
