import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
// This is what the flag puts into a new context.
const collect = runInNewContext("gc") as () => void;

/** Collects until `isDone`, or until it is plain that nothing more goes; answers whether it is done. */
export async function collectGarbage(isDone: () => boolean): Promise<boolean> {
  for (let time = 0; time < 20 && !isDone(); time += 1) {
    // What was looked at in a turn of the event loop is kept until its end.
    await new Promise(setImmediate);
    collect();
  }
  return isDone();
}
