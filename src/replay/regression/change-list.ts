import type { PlayedRunPair } from "./compare-conversation.ts";
import { placeOf, type RequestDifference } from "./compare-run.ts";
import { type Culprit, culpritName } from "./culprit.ts";
import type { RunTrace } from "./run-trace.ts";

/** A request that differs, or the end of a run that does. */
type Change = {
  readonly place: string;
  readonly runId: string;
  /** Of the first ones only; null for the others, and for the end of a run. */
  readonly difference: RequestDifference | null;
  /** False for the end of a run. */
  readonly isRequest: boolean;
  /** The last of them is the one that explains what the others leave. */
  culprits: readonly Culprit[];
  /** How the request is sent without the changes of all but the last culprit. */
  sent: string;
};

/** How a request is made with the earlier version of some layers. */
export type MadeAgain = { readonly sent: string; readonly culprit: Culprit; readonly isSound: boolean };

/** By place; null if it is made as before. What is missing is not known. */
export type FoundAgain = ReadonlyMap<string, MadeAgain | null>;

/** How many differences of a conversation a report lists. */
const maxDifferences = 20;

/** What differs in a conversation, and its culprits. */
export class ChangeList {
  readonly #changes: Change[] = [];
  /** Something besides the culprit acts where something differs. */
  #isAmbiguous = false;

  add(pair: PlayedRunPair): void {
    const { differences, end, runId } = pair.compared;
    for (const difference of differences) {
      const isListed = this.#changes.length < maxDifferences;
      this.#changes.push({
        ...{ place: placeOf(difference), runId, isRequest: true, difference: isListed ? difference : null },
        ...{ culprits: [difference.culprit], sent: sentIn(difference, pair.now.trace) },
      });
    }
    if (end !== null) {
      const sent = pair.now.trace.end?.after ?? "";
      this.#changes.push({
        ...{ place: endOf(runId), runId, isRequest: false, difference: null, culprits: [end], sent },
      });
    }
    const first = differences[0]?.culprit ?? end;
    if (first?.kind === "layer" && othersAct(pair, first)) this.#isAmbiguous = true;
  }

  get isAmbiguous(): boolean {
    return this.#isAmbiguous;
  }

  /** A layer whose part in the changes is not known yet, and was not left out yet. */
  openWithout(tried: ReadonlySet<string>): Culprit | null {
    for (const { culprits } of this.#changes) {
      const last = culprits.at(-1);
      if (last?.kind === "layer" && last.isConfirmed === null && !tried.has(last.name)) return last;
    }
    return null;
  }

  /** Takes over what was found with the earlier version of the layer, and of those that were tried before. */
  settle(layer: Culprit, found: FoundAgain): void {
    let origin: Change | null = null;
    for (const change of this.#changes) {
      const last = change.culprits.at(-1);
      if (last?.kind !== "layer" || last.name !== layer.name) continue;
      const again = found.get(change.place);
      if (again !== undefined) settleChange(change, last, again);
      // What a conversation differs by since an earlier run has the culprits of that.
      else if (origin !== null && last.runId !== change.runId)
        change.culprits = origin.culprits.map((each) => ({ ...each, block: last.block }));
      else settleChange(change, last, { sent: "", culprit: last, isSound: false });
      origin ??= change;
    }
  }

  get first(): Culprit | null {
    return this.#changes[0]?.culprits[0] ?? null;
  }

  /** The culprits by name, and how many requests each changes. */
  get counts(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { culprits, isRequest } of this.#changes)
      for (const culprit of culprits) {
        const name = culpritName(culprit);
        counts.set(name, (counts.get(name) ?? 0) + (isRequest ? 1 : 0));
      }
    return counts;
  }

  get differences(): readonly RequestDifference[] {
    return this.#changes.flatMap(({ difference, culprits: [culprit, ...others] }) =>
      difference === null || culprit === undefined ? [] : [{ ...difference, culprit, others }],
    );
  }
}

function settleChange(change: Change, layer: Culprit, again: MadeAgain | null): void {
  const others = change.culprits.slice(0, -1);
  if (again?.isSound === false) {
    change.culprits = [...others, { ...layer, isConfirmed: false }];
    return;
  }
  const hasPart = again === null || again.sent !== change.sent;
  change.culprits = [
    ...others,
    ...(hasPart ? [{ ...layer, isConfirmed: true }] : []),
    ...(again === null ? [] : [again.culprit]),
  ];
  change.sent = again?.sent ?? change.sent;
}

/** The place of the end of a run. */
const endOf = (runId: string): string => `${runId} end`;

/** What is sent now, and what the model reads: a request that continues from a response may be the same although its Turn is not. */
function sentIn({ now, frame, attempt }: RequestDifference, { requests }: RunTrace): string {
  const made = now === null ? undefined : requests.find((each) => each.frame === frame && each.attempt === attempt);
  return made === undefined ? "" : `${made.requestDigest} ${made.context} ${made.settingsDigest}`;
}

/** The places of a compared run, and what is known of each. */
export function foundIn(
  { compared: { runId, unchanged, differences, end, unknown }, now }: PlayedRunPair,
  isSound: (culprit: Culprit) => boolean,
): FoundAgain {
  const found = new Map<string, MadeAgain | null>(unchanged.map((place) => [place, null]));
  for (const difference of differences) {
    const { culprit } = difference;
    found.set(placeOf(difference), { sent: sentIn(difference, now.trace), culprit, isSound: isSound(culprit) });
  }
  if (end !== null) found.set(endOf(runId), { sent: now.trace.end?.after ?? "", culprit: end, isSound: isSound(end) });
  else if (unknown === null && differences.length === 0 && !now.isCut) found.set(endOf(runId), null);
  return found;
}

/**
 * Whether something besides the culprit may have a part in what differs in a run: another layer that does anything there in one of the two
 * executions, other settings, or another policy. A layer that hands everything on in both has none.
 */
function othersAct({ before, now, compared }: PlayedRunPair, { name }: Culprit): boolean {
  const [then, today] = [before.trace, now.trace];
  const layers = new Set([...actingIn(then, today), ...actingIn(today, then)]);
  layers.delete(name);
  if (layers.size > 0 || JSON.stringify(then.policies) !== JSON.stringify(today.policies)) return true;
  const settings = new Set(then.requests.map(({ settingsDigest }) => settingsDigest));
  const isOther = ({ settingsDigest }: { readonly settingsDigest: string }) => !settings.has(settingsDigest);
  return compared.differences.length > 0 && today.requests.some(isOther);
}

/** The layers that edit a Turn, give instructions, throw, or make another number of calls than one, or than in the other execution. */
function actingIn(trace: RunTrace, other: RunTrace): ReadonlySet<string> {
  const names = new Set<string>();
  const add = (depth: number): void => {
    const layer = trace.layers[depth];
    if (layer !== undefined) names.add(layer.name);
  };
  for (const turn of trace.turns.keys()) {
    const depth = depthOf(turn);
    // A frame is given a Turn by the layer around it, and returns one itself.
    add(turn.startsWith("given/") ? depth - 1 : depth);
  }
  for (const frame of new Set([...trace.calls.keys(), ...other.calls.keys()])) {
    const calls = trace.calls.get(frame) ?? 0;
    if (calls !== 1 || other.calls.get(frame) !== 1) add(depthOf(frame));
  }
  for (const { instructions } of trace.requests) for (const { layer } of instructions) names.add(layer);
  if (trace.end?.thrownBy != null) names.add(trace.end.thrownBy.layer);
  return names;
}

const depthOf = (frame: string): number => frame.split(".").length - 1;
