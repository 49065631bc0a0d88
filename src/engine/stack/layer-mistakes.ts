import { kindOf } from "../../base/options.ts";
import { unwatched } from "../../base/unwatched.ts";
import { LayerError, type LayerHandler } from "./middleware.ts";

/** Whether a layer gave what is called with the Turn. */
export const isHandler = (given: unknown): given is LayerHandler => typeof given === "function";

/** What a layer gives for `next` where it should give a function of the Turn. */
export function noHandler(name: string, given: unknown): LayerError {
  // It may have begun its work without `next`, and fail at it.
  unwatched(given);
  const what = `gave ${kindOf(given)} for next, and not a function: write (next) => async (turn, ctx) => next(turn)`;
  return new LayerError("not-a-handler", name, what);
}

/** What a layer hands on that is no Turn: inwards by `next`, or outwards by returning it. */
export function noTurn(name: string, direction: "request" | "response", handed: unknown): LayerError {
  const did = direction === "request" ? "called next with" : "returned";
  const instead = direction === "request" ? "write next(turn)" : "return what next(turn) gives";
  return new LayerError("not-a-turn", name, `${did} ${kindOf(handed)}, and not a Turn: ${instead}`);
}
