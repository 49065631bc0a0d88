import { Block } from "./block.ts";
import { Turn } from "./turn.ts";

/** Deep-freezes a value before callers get it: plain objects, lists, and the content of blocks and Turns in them. */
export function freezeAll<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Turn) value.frozen();
  else if (value instanceof Block) Block.freeze(value);
  // A frozen object is assumed to be frozen in depth, as JSON here is.
  else if (!Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) freezeAll(member);
  }
  return value;
}
