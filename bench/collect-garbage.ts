import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
// With the flag, every context that is created from now on has a function of this name.
const collect = runInNewContext("gc") as () => void;

/** Collects all garbage, so that the next timed work does not pay for that of earlier ones. */
export const collectGarbage = (): void => {
  collect();
};
