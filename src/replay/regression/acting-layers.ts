import type { PlayedRunPair } from "./compare-conversation.ts";
import type { Culprit } from "./culprit.ts";
import type { RunTrace } from "./run-trace.ts";

/**
 * Whether something besides the culprit may have a part in what differs in a run: another layer that does anything there in one of the two
 * executions, other settings, or another policy. A layer that hands everything on in both has none.
 */
export function othersAct({ before, now, compared }: PlayedRunPair, { name }: Culprit): boolean {
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
