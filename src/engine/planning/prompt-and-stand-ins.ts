import type { Block } from "../../domain/block.ts";
import type { Repair } from "../../domain/events/inference-events.ts";
import type { Turn } from "../../domain/turn.ts";
import { abortedResult, type Codec, type Settings } from "../ports/codec.ts";
import { toldLate } from "./late-result.ts";
import { withoutParts } from "./parts.ts";
import { callIdOf, promptAt, repairIndexOf, standIn } from "./repairs.ts";

/** A request after all other repairs. */
type Shaped = {
  readonly repairs: readonly Repair[];
  readonly codec: Codec;
  readonly scope: string;
  readonly settings: Settings;
};

/** The user's message that follows if the server would reject a request that ends like this. */
export function promptBehind(
  turn: Turn,
  from: number,
  { repairs, codec, settings }: Pick<Shaped, "repairs" | "codec" | "settings">,
): readonly Repair[] {
  if (codec.prompt === undefined) return [];
  const blocks = turn.after(from);
  const byIndex = Map.groupBy(repairs, repairIndexOf);
  const sent = blocks.flatMap((block, offset) => {
    const here = byIndex.get(from + offset) ?? [];
    const answers = here.filter(({ rule }) => rule === "answer").map((each) => abortedResult(callIdOf(each)));
    const cut = here.find(({ rule }) => rule === "omit-parts");
    const said = toldLate(block, here, turn);
    const left = cut === undefined ? said : withoutParts(said, cut);
    return left === null || here.some(({ rule }) => rule === "omit") ? answers : [...answers, left];
  });
  // If nothing of a Turn is sent, there is nothing to continue.
  if (from === 0 && blocks.length > 0 && sent.length === 0) return [];
  return codec.prompt.isNeeded(sent, { settings, isContinued: from > 0 })
    ? [promptAt(from + blocks.length, "model-speaks-last")]
    : [];
}

/** Blocks that are sent with a stand-in for their signature, which depends on the blocks sent before them. */
export function standIns(turn: Turn, from: number, { repairs, codec, scope, settings }: Shaped): readonly Repair[] {
  if (codec.standInRule === undefined) return [];
  const byIndex = Map.groupBy(repairs, repairIndexOf);
  const found: Repair[] = [];
  let stretch: Block[] = [];
  for (const [offset, block] of turn.after(from).entries()) {
    const here = byIndex.get(from + offset) ?? [];
    const isOmitted = here.some(({ rule }) => rule === "omit");
    const isModels = block.kind !== "user" && block.kind !== "system" && !codec.pairs.isResult(block);
    if (here.some(({ rule }) => rule === "answer") || !(isModels || isOmitted)) stretch = [];
    if (!isModels || isOmitted) continue;
    const isForeign = block.wire !== null && block.wire.scope !== scope;
    const reason = codec.standInRule(block, { isForeign, stretch, settings });
    if (reason !== null) found.push(standIn(from + offset, reason));
    stretch.push(block);
  }
  return found;
}
