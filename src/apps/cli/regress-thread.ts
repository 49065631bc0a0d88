import { parentPort, workerData } from "node:worker_threads";
import { messageOf } from "../../base/error-message.ts";
import { enterOtherWorld } from "../../replay/regression/other-world.ts";
import type { FromThread, ThreadData, ToThread } from "./regress/messages.ts";

/**
 * A thread of `turnlog regress`: loads the module and opens the store by itself, and compares one conversation after another. It changes
 * its date and its random numbers before it loads anything that could keep them.
 */
const say = (message: FromThread): void => parentPort?.postMessage(message);

const failed = (error: unknown): FromThread => {
  const code = error instanceof Error && "code" in error ? error.code : null;
  return { kind: "failed", message: messageOf(error), code: typeof code === "string" ? code : null };
};

// Only `thread-pool.ts` starts this thread, with this data.
const data = workerData as ThreadData;
if (data.task.isOtherWorld) enterOtherWorld();
try {
  const { openLab } = await import("./regress/open-lab.ts");
  const { answer, layers, layerLimitMs } = await openLab(data);
  parentPort?.on("message", (asked: ToThread) => {
    answer(asked).then(say, (error: unknown) => say(failed(error)));
  });
  say({ kind: "ready", layers, layerLimitMs });
} catch (error) {
  say(failed(error));
}
