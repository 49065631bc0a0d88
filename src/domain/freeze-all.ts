import { Block } from "./block.ts";
import { Turn } from "./turn.ts";

/** Freezes what is handed to callers, through and through: plain objects, lists, and the content of blocks and Turns in them. */
export function freezeAll<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Turn) value.frozen();
  else if (value instanceof Block) Block.freeze(value);
  // What is frozen already is taken to be so all through, as JSON is.
  else if (!Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) freezeAll(member);
  }
  return value;
}
