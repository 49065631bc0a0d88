import type { Memory } from "./memory.ts";
import type { ReceivedRequest, ReferenceServerOptions } from "./options.ts";
import { stringOf } from "./wire.ts";

/** How many requests arrived, and how many bytes of their bodies are kept. */
export interface Arrivals {
  count: number;
  bytes: number;
}

interface Kept {
  readonly requests: ReceivedRequest[];
  readonly arrivals: Arrivals;
  readonly readings: Map<number | string, unknown>;
  readonly memory: Memory;
  readonly options: ReferenceServerOptions;
}

/** Drops the oldest requests and responses beyond the server's limits, so that it can run for years. */
export function forgetOldest({ requests, arrivals, readings, memory, options }: Kept): void {
  const { maxKept = 10_000, maxKeptBytes = 256 * 2 ** 20 } = options;
  while (requests.length > 1 && (requests.length > maxKept || arrivals.bytes > maxKeptBytes)) {
    const oldest = requests.shift();
    if (oldest === undefined) break;
    arrivals.bytes -= oldest.bodyText.length;
    readings.delete(oldest.index);
    // Other dialects keep nothing under this id.
    if (oldest.responseId !== undefined && !memory.responses.has(oldest.responseId)) readings.delete(oldest.responseId);
  }
  for (const [id, held] of memory.responses) {
    if (memory.responses.size <= maxKept) break;
    memory.responses.delete(id);
    readings.delete(id);
    for (const item of held.output) memory.issued.delete(stringOf(item["id"]) ?? "");
  }
}
