import type { LayerDescription } from "../../domain/events/run-events.ts";
import type { RunTrace } from "./run-trace.ts";

/** The first layer that was handed the same in two executions of a run, and handed on something else. */
export type Cause = {
  /** Null if the engine did, when it shortened the Turn. */
  readonly layer: LayerDescription | null;
  /** What it did: `edited`, `added`, `left out`, `moved`, `other calls`. */
  readonly how: "edited" | "added" | "left out" | "moved" | "other calls" | "compacted";
  readonly direction: "request" | "response";
  /** The frame that it handed the Turn to, or that returned it, in the changed run; in the earlier one if that alone has the layer. */
  readonly frame: string;
};

/** A frame of a trace, and how many layers are around it. */
type Place = { readonly trace: RunTrace; readonly frame: string; readonly depth: number };

/**
 * Walks the frames of both runs in the order of their calls. They started from the same Turn, and steps that were handed the same got the
 * same answer, so the first place where two Turns differ was caused by the layer that handed that Turn on. Null if every layer did the same.
 */
export function firstCause(before: RunTrace, now: RunTrace): Cause | null {
  return causeWithin({ trace: before, frame: "0", depth: 0 }, { trace: now, frame: "0", depth: 0 });
}

/** Both frames were handed the same. */
function causeWithin(before: Place, now: Place): Cause | null {
  const [then, today] = [layerOf(before), layerOf(now)];
  if (then === undefined && today === undefined) return compactionAt(before, now);
  if (then?.name === today?.name) return causeOfLayer(before, now);
  const isGone = then !== undefined && !has(now, then);
  const isNew = today !== undefined && !has(before, today);
  // Another name in the same place is the same layer, as far as both do the same.
  if (isGone && isNew) return causeOfLayer(before, now);
  if (isGone && isTransparent(before)) return causeWithin(inside(before), now);
  if (isNew && isTransparent(now)) return causeWithin(before, inside(now));
  if (isGone) return causeAt(before, then, isIn(now, then) ? "moved" : "left out");
  if (isNew) return causeAt(now, today, isIn(before, today) ? "moved" : "added");
  if (then !== undefined && isTransparent(before)) return causeWithin(inside(before), now);
  if (today === undefined) return null;
  return isTransparent(now) ? causeWithin(before, inside(now)) : causeAt(now, today, "moved");
}

/** Both frames are calls of one layer. */
function causeOfLayer(before: Place, now: Place): Cause | null {
  const layer = layerOf(now) ?? null;
  const how = layer !== null && now.trace.leftOut.has(layer.name) ? "left out" : "edited";
  const count = Math.max(callsOf(before), callsOf(now));
  for (let call = 0; call < count; call += 1) {
    if (call >= callsOf(before) || call >= callsOf(now))
      return { layer, how: "other calls", direction: "request", frame: now.frame };
    const [then, today] = [inside(before, call), inside(now, call)];
    if (given(then) !== given(today)) return { layer, how, direction: "request", frame: today.frame };
    const within = causeWithin(then, today);
    if (within !== null) return within;
    // The answers differ, which no layer caused.
    if (result(then) !== result(today)) return null;
  }
  if (result(before) === result(now)) return null;
  return { layer, how, direction: "response", frame: now.frame };
}

function compactionAt(before: Place, now: Place): Cause | null {
  const direction = (["given", "result"] as const).find(
    (name) => before.trace.compacted.get(`${name}/${before.frame}`) !== now.trace.compacted.get(`${name}/${now.frame}`),
  );
  if (direction === undefined) return null;
  return { layer: null, how: "compacted", direction: direction === "given" ? "request" : "response", frame: now.frame };
}

function causeAt(place: Place, layer: LayerDescription, how: "moved" | "left out" | "added"): Cause {
  const isEdit = given(inside(place)) !== given(place);
  return { layer, how, direction: isEdit ? "request" : "response", frame: isEdit ? inside(place).frame : place.frame };
}

const layerOf = ({ trace, depth }: Place): LayerDescription | undefined => trace.layers[depth];

/** Whether the layer is still to come in the other run. */
const has = ({ trace, depth }: Place, { name }: LayerDescription): boolean =>
  trace.layers.slice(depth).some((layer) => layer.name === name);

const isIn = ({ trace }: Place, { name }: LayerDescription): boolean =>
  trace.layers.some((layer) => layer.name === name);

const callsOf = ({ trace, frame }: Place): number => trace.calls.get(frame) ?? 0;

const inside = ({ trace, frame, depth }: Place, call = 0): Place => ({
  trace,
  frame: `${frame}.${call}`,
  depth: depth + 1,
});

/** Whether the call of the layer did nothing but call the next one. */
const isTransparent = (place: Place): boolean =>
  callsOf(place) === 1 && given(inside(place)) === given(place) && result(place) === result(inside(place));

/** The digest of the Turn that a frame was handed; a layer that did nothing hands on what it got. */
function given({ trace, frame }: Place): string {
  for (let at = frame; ; at = at.slice(0, at.lastIndexOf("."))) {
    const turn = trace.turns.get(`given/${at}`);
    if (turn !== undefined) return turn;
    if (!at.includes(".")) return trace.base;
  }
}

/** What a frame returned. The core's result follows from what it was given and the answer that it got. */
function result(place: Place): string {
  const { trace, frame } = place;
  const own = trace.turns.get(`result/${frame}`);
  if (own !== undefined) return own;
  const calls = callsOf(place);
  if (calls > 0) return result(inside(place, calls - 1));
  const answered = trace.requests.findLast((request) => request.frame === frame);
  return `${given(place)} ${trace.compacted.get(`result/${frame}`) ?? ""} ${answered?.key ?? ""}`;
}
