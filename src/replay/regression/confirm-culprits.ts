import { changedSettings } from "../../engine/planning/request-settings.ts";
import type { Codec } from "../../engine/ports/codec.ts";
import { type ChangeList, type FoundAgain, foundIn, type MadeAgain } from "./change-list.ts";
import type { Broken, ComparedStacks, PlayedRunPair } from "./compare-conversation.ts";
import { type Culprit, gaveInstructions } from "./culprit.ts";

/** How many layers are taken back, one after the other, where several may differ. */
const maxRounds = 3;

type Confirming = {
  readonly stacks: ComparedStacks;
  /** Compares the conversation once more, with the earlier version of these layers. */
  readonly compareAgain: (restored: ReadonlySet<string>) => AsyncIterable<PlayedRunPair | Broken>;
};

/**
 * Where several layers may differ, compares a conversation once more with the earlier version of the first culprit. A request that is
 * then made as before has no other culprit. What still differs names the next one, whose earlier version is taken in addition. If nothing is
 * changed by that, the layer has no part in the request.
 */
export async function confirmCulprits(changes: ChangeList, { stacks, compareAgain }: Confirming): Promise<void> {
  // Left out is one layer, and nothing else differs.
  if (!changes.isAmbiguous || stacks.without !== null) return;
  const tried = new Set<string>();
  for (let round = 0; round < maxRounds; round += 1) {
    const layer = changes.openWithout(tried);
    if (layer === null) return;
    tried.add(layer.name);
    const found = new Map<string, MadeAgain | null>();
    for await (const pair of compareAgain(tried)) {
      if ("reason" in pair) continue;
      for (const [place, made] of foundAgain(pair, { stacks, tried })) found.set(place, made);
    }
    changes.settle(layer, found);
  }
}

function foundAgain(
  pair: PlayedRunPair,
  { stacks, tried }: { readonly stacks: ComparedStacks; readonly tried: ReadonlySet<string> },
): FoundAgain {
  const isOfRecording = stacks.before === null;
  const { codec } = stacks.now.provider;
  return foundIn(pair, (culprit) => {
    if (culprit.kind === "unknown" || (culprit.kind === "layer" && tried.has(culprit.name))) return false;
    return !isOfRecording || !maybeOfReplaced(culprit, pair, codec);
  });
}

/** A recorded layer gives no instructions, so instructions that are missing may be those of the layer that it replaces. */
function maybeOfReplaced({ kind, name, how }: Culprit, { now }: PlayedRunPair, codec: Codec): boolean {
  if (kind === "settings") return changedSettings({}, codec.instruct({}, ["text"])).includes(name);
  if (how !== gaveInstructions) return false;
  return !now.trace.requests.some(({ instructions }) => instructions.some(({ layer }) => layer === name));
}
