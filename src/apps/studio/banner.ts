import { describeCacheCause } from "../../analysis/descriptions/describe-cache.ts";
import { describeRequestReason } from "../../analysis/descriptions/describe-reason.ts";
import { actorLabel } from "../../analysis/descriptions/labels.ts";
import { counted, grouped } from "../../base/counted.ts";
import { excerpt } from "../../base/printable.ts";
import type { Divergence } from "../../domain/events/inference-events.ts";
import type { Reel } from "./reel.ts";
import type { Banner, BannerPart } from "./stack-documents.ts";
import type { Step } from "./step.ts";

/** Long enough to tell ids apart, and short enough for a line. */
const shortId = (id: string): string => excerpt(id, 1_000).slice(0, 14);

export const nothingSent = (blocks: number): Banner => ({
  ...{ tone: "none", verdict: "nothing", title: ["Nothing sent yet"], edit: null, block: null },
  text: `The first request will carry ${all(blocks)}.`,
});

/** Of a fork without requests: its first one may continue from an answer that its parent got. */
export const nothingSentByFork = (): Banner => ({
  ...{ tone: "none", verdict: "nothing", title: ["Nothing sent yet"], edit: null, block: null },
  text: "The first request may continue from an answer of the conversation that this one began from.",
});

/** Of a message behind the newest request: how the next one will be sent is decided when it is. */
export const notSentYet = (newest: Step): Banner => ({
  ...{ tone: "none", verdict: "nothing", title: ["Not sent yet"], edit: null, block: null },
  text: `The newest request, r${grouped(newest.revision)}, was sent before this message.`,
});

/** The verdict on a request: what was sent, who made it so, and what it caused. */
export function bannerOf(reel: Reel, step: Step): Banner {
  const { verdict, data } = step;
  const { input, decision } = data;
  const sent = input.blocks - decision.sendFrom;
  const divergence = decision.rejected?.divergence ?? null;
  const about = { verdict, edit: null, block: null, tone: "none" as const };
  if (step.outcome?.isFailure === true)
    return {
      ...about,
      verdict: "failed",
      tone: "bad",
      title: [failedTitle(step.outcome.words)],
      text: sentWords(step),
    };
  switch (verdict) {
    case "first":
      return {
        ...about,
        title: [`First: ${all(sent)} sent`],
        text: joined(firstWords, tokenWords(step)),
      };
    case "chained":
      return {
        ...about,
        title: [`Chained: ${sent} of ${counted(input.blocks, "block")} sent`],
        text: joined(heldWords(reel, step), tokenWords(step)),
      };
    case "aside":
      return { ...about, title: ["Asked beside the conversation"], text: joined(sentWords(step), tokenWords(step)) };
    case "whole":
      return {
        ...about,
        title: [`Sent whole: ${describeRequestReason(decision.reason ?? "")}`],
        text: joined(sentWords(step), tokenWords(step)),
      };
    default:
      return { ...about, ...brokenBanner(reel, step, divergence) };
  }
}

const firstWords = "Nothing was asked at this endpoint before.";

function brokenBanner(
  reel: Reel,
  step: Step,
  divergence: Divergence | null,
): Pick<Banner, "tone" | "title" | "text" | "edit" | "block"> {
  const isRebased = step.verdict === "rebased";
  const { decision } = step.data;
  const lead = isRebased ? `Rebased ${backWords(decision.back)}: ` : "Sent in full: ";
  const tone = isRebased ? "warn" : "bad";
  if (divergence === null) {
    const text = joined(isRebased ? heldWords(reel, step) : sentWords(step), tokenWords(step));
    return { tone, title: [`${lead}${describeRequestReason(decision.reason ?? "")}`], text, edit: null, block: null };
  }
  const { index, change, actor, blockId } = divergence;
  const who: readonly BannerPart[] =
    actor?.kind === "middleware"
      ? [{ layer: actor.name, number: numberOf(step, actor.name) }]
      : [actor === null ? "something" : actorLabel(actor)];
  const what = isRebased
    ? `${changes[change]} a block that the server already held`
    : `${changes[change]} block ${index}, so no answer could be continued from`;
  const edit = editBehind(reel, step, divergence);
  return {
    ...{ tone, title: [lead, ...who, ` ${what}`], edit },
    text: joined(isRebased ? rebasedWords(reel, step, { divergence, edit }) : fullWords(step), tokenWords(step)),
    block: blockId === null ? null : { id: blockId, index },
  };
}

const changes = {
  edited: "changed",
  removed: "removed",
  inserted: "added",
  moved: "moved",
  shortened: "cut the Turn before",
};

const backWords = (back: number): string => (back === 1 ? "one answer back" : `${grouped(back)} answers back`);

const numberOf = ({ passes }: Step, name: string): number | null => {
  const place = passes.findIndex((pass) => pass.name === name);
  return place < 0 ? null : place + 1;
};

/** The event by which the actor of a divergence made it. */
function editBehind({ rows, touched }: Reel, { revision }: Step, { actor, blockId }: Divergence): number | null {
  if (actor?.kind !== "middleware") return null;
  let newest: number | null = null;
  for (let at = revision - 1; at >= 0; at -= 1) {
    const mark = rows.mark(at);
    if (mark?.type !== "TurnEdited" || mark.layer !== actor.name) continue;
    if (blockId !== null && touched.get(at)?.has(blockId) === true) return at;
    newest ??= at;
  }
  return newest;
}

function rebasedWords(
  reel: Reel,
  step: Step,
  { divergence, edit }: { readonly divergence: Divergence; readonly edit: number | null },
): string {
  const { data, newest } = step;
  const { anchor, sendFrom } = data.decision;
  const label = reel.labels.labels.get(divergence.blockId ?? "") ?? "block";
  const at = edit === null ? "" : ` at r${grouped(edit)}`;
  const changed = `Block ${divergence.index}, ${label}, ${past[divergence.change]}${at}.`;
  const holds =
    newest === null
      ? ""
      : ` The server’s newest answer (${shortId(newest.context.responseId)}, r${grouped(newest.context.revision)}) holds it as it was; the request`;
  const [from, last] = [sendFrom, data.input.blocks - 1];
  const sent = from === last ? `block ${from} is sent` : `blocks ${from} to ${last} are sent`;
  const anchored =
    anchor === null ? "" : ` continues from ${shortId(anchor.id)}${revisionOf(reel, anchor.inferenceId)}`;
  return `${changed}${holds}${anchored} and ${sent}.`;
}

const past = { edited: "changed", removed: "removed", inserted: "added", moved: "moved", shortened: "cut off" };

function heldWords(reel: Reel, { data }: Step): string {
  const { anchor } = data.decision;
  if (anchor === null) return "";
  return `The server holds the first ${grouped(anchor.length)} under ${shortId(anchor.id)}${revisionOf(reel, anchor.inferenceId)}.`;
}

function revisionOf({ view }: Reel, inferenceId: string | null): string {
  const context = inferenceId === null ? null : view.server.contexts.ofInference(inferenceId);
  return context === null ? "" : ` (r${grouped(context.revision)})`;
}

const fullWords = ({ data }: Step): string =>
  `${data.input.blocks === 1 ? "1 block" : `All ${counted(data.input.blocks, "block")}`} ${were(data.input.blocks)} sent, ${grouped(data.requestBytes)} bytes.`;

const sentWords = ({ data }: Step): string =>
  `${grouped(data.input.blocks - data.decision.sendFrom)} of ${counted(data.input.blocks, "block")} ${were(data.input.blocks - data.decision.sendFrom)} sent, ${grouped(data.requestBytes)} bytes.`;

function tokenWords({ outcome, data }: Step): string {
  const { tokens = null, cost } = outcome ?? {};
  if (tokens === null) return outcome === null ? "It has no answer yet." : "";
  const { input, read, again } = tokens;
  if (read === null) return `${grouped(input)} tokens in; what was read from a cache is not told.`;
  const share = read === 0 ? "None" : grouped(read);
  const from = `${share} of ${counted(input, "token")} read from the cache`;
  if (again === 0 || cost?.miss == null) return `${from}.`;
  const { cause, author } = cost.miss;
  const { actor } = data.decision.rejected?.divergence ?? { actor: null };
  const isNamed = actor?.kind === "middleware" && author === `${actor.name}@${actor.version}`;
  const why = isNamed ? "" : `: ${describeCacheCause(cause)}${author === null ? "" : `, by ${author}`}`;
  return `${from}, ${grouped(again)} paid again${why}.`;
}

const all = (blocks: number): string => (blocks === 1 ? "1 block" : `all ${counted(blocks, "block")}`);

const were = (blocks: number): string => (blocks === 1 ? "was" : "were");

/** `refused (400): …` is what the server did; a request fails by itself. */
const failedTitle = (words: string): string => `The request ${words.startsWith("refused") ? "was " : ""}${words}`;

const joined = (...sentences: readonly string[]): string => sentences.filter((each) => each !== "").join(" ");
