import type { Actor } from "../../domain/actor.ts";
import { Turn } from "../../domain/turn.ts";
import type { TurnName } from "../../projections/client-turn/run-turns.ts";
import { type Layer, LayerError, noTurn } from "../ports/middleware.ts";
import { descendsFrom, type NamedTurn, normalise, type PassedCall, recordPass, reviseTurn } from "../session/pass.ts";
import { type LiveRun, newBlockId } from "../session/session.ts";

/** Towards the model, or back from it. */
export type Direction = "request" | "response";

/** The state of a layer's call. */
type CallSoFar = {
  readonly layer: Layer;
  readonly depth: number;
  readonly frame: string;
  readonly given: Turn;
  readonly calls: readonly PassedCall[];
  /** The Turn that the layer names as the origin of this one (`ctx.from`); null if it names none. */
  readonly from: Turn | null;
};

type HandedOn = {
  readonly turn: Turn;
  readonly direction: Direction;
  /** The frame that gets the Turn, or that returned it. */
  readonly frame: string;
};

/** Records what a layer handed on in one direction; nothing if it handed on what it got. */
export function recordHandedOn(
  { run, lastPasses }: { readonly run: LiveRun; readonly lastPasses: Map<string, NamedTurn> },
  call: CallSoFar,
  { turn, direction, frame }: HandedOn,
): Turn {
  const { given, calls } = call;
  // The Turn of an idle pass: the fold assumes it if nothing is recorded.
  const idle = direction === "request" ? given : calls.at(-1)?.result;
  if (turn === idle && call.from === null) return turn;
  const own: NamedTurn = { name: `given/${call.frame}`, turn: given };
  const base = baseOf(turn, own, call);
  const key = `${call.depth} ${direction}`;
  const last = lastPasses.get(key);
  const settled = normalise(turn, base.turn, {
    earlier: last === undefined ? [given] : [given, last.turn],
    names: run.names,
    newId: () => newBlockId(run, call.frame),
  });
  if (settled === idle && base.turn === idle) return settled;
  const target: TurnName = direction === "request" ? `given/${frame}` : `result/${frame}`;
  // The engine may have shortened what the last pass handed on.
  const isStill = ({ name, turn: then }: NamedTurn): boolean => run.fold.turns.get(name).digest === then.digest;
  const others = last !== undefined && isStill(last) ? [own, last] : [own];
  const pass = reviseTurn(settled, base, others, run.fold.turns);
  recordPass(run, { pass, direction, frame, actor: actorOf(call, direction) });
  lastPasses.set(key, { name: target, turn: settled });
  return settled;
}

/** @throws {LayerError} if `handed` is not a Turn, or is an empty one. */
export function checkedTurn(layer: string, handed: unknown, direction: Direction): Turn {
  if (!(handed instanceof Turn)) throw noTurn(layer, direction, handed);
  if (handed.length === 0) throw new LayerError("empty-turn", layer, "handed on an empty Turn");
  return handed;
}

function baseOf(turn: Turn, own: NamedTurn, { calls, from }: CallSoFar): NamedTurn {
  const call = from === null ? undefined : calls.findLast(({ result }) => result === from);
  if (call?.result != null) return { name: `result/${call.frame}`, turn: call.result };
  return descendsFrom(turn, own, calls);
}

function actorOf({ layer: { name, version, isEngine }, frame }: CallSoFar, direction: Direction): Actor {
  return isEngine === true ? { kind: "engine" } : { kind: "middleware", name, version, frame, direction };
}
