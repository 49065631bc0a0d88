import type { AppendOutcome } from "./event-log.ts";
import { CallError } from "./failures.ts";
import type { NodeContext } from "./node-context.ts";

/** An outcome that the client may be told. */
export type SettledOutcome = Exclude<AppendOutcome, { readonly status: "dropped" }>;

/**
 * Settles with the outcome of an append once the other nodes have it.
 *
 * @throws {CallError} a time-out, when they do not within the limit, when it is lost with its leader, or when it repeats
 *   what is not replicated yet: the server's own answer then, which leaves open whether the events will stand.
 */
export async function replicated(node: NodeContext, outcome: AppendOutcome): Promise<SettledOutcome> {
  const { log, writeTimeoutMs } = node;
  const over = Promise.withResolvers<SettledOutcome>();
  const expire = (): void => over.reject(new CallError({ kind: "timeout" }));
  const look = (): void => {
    if (outcome.status === "dropped") return;
    if (outcome.status !== "appended" || outcome.count <= log.replicated) over.resolve(outcome);
    else if (outcome.count > log.records.length) expire();
  };
  const timer = setTimeout(expire, writeTimeoutMs);
  const stop = log.onChange(look);
  look();
  try {
    return await over.promise;
  } finally {
    clearTimeout(timer);
    stop();
  }
}
