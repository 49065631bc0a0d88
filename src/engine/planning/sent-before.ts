import type { JsonObject } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import type { Decision, Repair } from "../../domain/events/inference-events.ts";
import type { Turn } from "../../domain/turn.ts";
import type { ServerContext } from "../../projections/server-contexts/server-contexts.ts";
import type { Capabilities } from "../ports/capabilities.ts";
import type { Codec, NamedAnswer, Settings } from "../ports/codec.ts";
import { repairIndexOf } from "./repairs.ts";
import { changedBefore } from "./request-settings.ts";

type Planned = {
  readonly turn: Turn;
  readonly scope: string;
  readonly codec: Codec;
  readonly settings: Settings;
  readonly capabilities: Capabilities;
  readonly contexts: {
    readonly latest: (scope: string) => ServerContext | null;
    readonly ofInference: (inferenceId: string) => ServerContext | null;
    readonly settings: (digest: string) => JsonObject;
  };
  readonly full?: string;
};
type Decided = Pick<Decision, "anchor" | "sendFrom" | "repairs">;

/** The number of earlier requests that a codec receives. */
const maxTold = 4;

/** What the body of a request contains beyond Turn, settings and anchor; nothing for a question outside the conversation. */
export function codecDetails(request: Planned, { anchor, sendFrom, repairs }: Decided): JsonObject | undefined {
  const { turn, codec, settings, full, capabilities } = request;
  if (codec.detailsOf === undefined || full === "aside") return undefined;
  const sentUpTo = (end: number): number => sentBlocks(repairs, { from: sendFrom, end });
  return codec.detailsOf({
    ...{ settings, anchor, capabilities, newest: newestOf(request) },
    blocks: sentUpTo(turn.length),
    said: saidLast(request, repairs),
    // Compares settings, so it is computed only for a codec that asks.
    get sentBefore() {
      return readBefore(request, sendFrom).map(sentUpTo);
    },
  });
}

function newestOf({ contexts, scope, full }: Planned): NamedAnswer | null {
  const answered = full === "warm-up" ? null : contexts.latest(scope);
  return answered === null || answered.responseId === ""
    ? null
    : { id: answered.responseId, inferenceId: answered.inferenceId };
}

/** The model's blocks from this endpoint since the last message of anyone else. A late result counts as such a message. */
function saidLast({ turn, scope, codec }: Planned, repairs: readonly Repair[]): readonly Block[] {
  const late = new Set(repairs.flatMap(({ rule, index }) => (rule === "late-result" ? [index] : [])));
  const said: Block[] = [];
  for (let index = turn.length - 1; index >= 0; index -= 1) {
    const block = turn.at(index);
    if (block === undefined || block.kind === "user" || block.kind === "system" || late.has(index)) break;
    if (!codec.pairs.isResult(block) && block.wire?.scope === scope) said.unshift(block);
  }
  return said;
}

/** Where earlier requests ended whose answers are unchanged in the Turn, newest first. */
function readBefore({ turn, scope, settings, contexts }: Planned, from: number): readonly number[] {
  const ends: number[] = [];
  let looked: string | undefined;
  for (let index = turn.length - 1; index >= from && ends.length < maxTold; index -= 1) {
    const answer = turn.at(index)?.wire?.group?.id;
    if (answer === undefined || answer === looked) continue;
    looked = answer;
    const made = contexts.ofInference(answer);
    if (made === null || made.scope !== scope || made.length > turn.length || made.inputLength <= from) continue;
    const before = contexts.settings(made.settingsDigest);
    const isRead = before["model"] === settings["model"] && changedBefore(before, settings).length === 0;
    if (isRead && turn.contextAt(made.length) === made.turn) ends.push(made.inputLength);
  }
  return ends;
}

/** The number of blocks that are sent for those of the Turn between two places. */
function sentBlocks(
  repairs: readonly Repair[],
  { from, end }: { readonly from: number; readonly end: number },
): number {
  const here = repairs.filter((repair) => repairIndexOf(repair) <= end);
  const added = here.filter(({ rule }) => rule === "answer" || rule === "prompt").length;
  return end - from + added - here.filter(({ rule, index }) => rule === "omit" && index < end).length;
}
