import type { HeldResponse } from "./memory.ts";
import type { JsonObject } from "./wire.ts";

/** How long a server keeps a response: a background response for ten minutes, unless it was to be stored. */
export function keepingOf(body: JsonObject, at: number): Pick<HeldResponse, "isBackground" | "isStored" | "goneAt"> {
  const isBackground = body["background"] === true;
  const isBrief = isBackground && body["store"] !== true;
  return {
    isBackground,
    isStored: isBackground || body["store"] !== false,
    goneAt: isBrief ? at + briefMs : Number.POSITIVE_INFINITY,
  };
}

/** Whether the id of a response can be used. */
export function isKept(held: HeldResponse | undefined, now: number): held is HeldResponse {
  return held?.isStored === true && now < held.goneAt;
}

const briefMs = 10 * 60 * 1000;
