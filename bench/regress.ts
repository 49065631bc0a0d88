import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { compareInThreads } from "../src/apps/cli/regress/thread-pool.ts";
import { openStore } from "../src/conversation/open-store.ts";
import type { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { createEngine } from "../src/engine/options/create-engine.ts";
import { scripted } from "../src/providers/scripted/scripted.ts";
import { regress } from "../src/replay/regression/regress.ts";
import { collectGarbage } from "./collect-garbage.ts";
import { type BenchRow, summary } from "./row.ts";
import { chat, inFolder } from "./sample.ts";

const conversations = 100;
const exchanges = 20;
/** Of a message, and of an answer. */
const bytes = 1_000;
const rounds = 2;
/** How often each conversation is compared for the time of threads, and each short one for the heap. */
const [timesOfThreads, timesOfHeap] = [10, 100];

/**
 * What a comparison of unchanged conversations of 20 requests of 2 KB costs: the processor time of a request, how long two threads take for 1,000
 * (on two free cores) and how much faster they are than one, and the heap after 10,000 short conversations over the heap after 100.
 */
export function benchRegress(): Promise<readonly BenchRow[]> {
  return inFolder(async (folder) => {
    const url = `sqlite:${join(folder, "regress.db")}`;
    await using store = await openStore(url);
    const idsOf = (name: string): readonly string[] =>
      Array.from({ length: conversations }, (_, n) => `cnv_${name}_${n}`);
    const [long, short] = [idsOf("long"), idsOf("short")];
    for (const id of long) await chat(store.conversation(id), { exchanges, bytes });
    for (const id of short) await chat(store.conversation(id), { exchanges: 1, bytes });
    const perRequest: number[] = [];
    // The first round warms up.
    for (let round = 0; round <= rounds; round += 1) {
      const start = process.cpuUsage();
      const compared = await compareUnchanged(store, long);
      const { user, system } = process.cpuUsage(start);
      if (round > 0) perRequest.push((user + system) / 1_000 / compared);
    }
    const heaps: number[] = [];
    let done = 0;
    await compareUnchanged(
      store,
      Array.from({ length: timesOfHeap }).flatMap(() => short),
      () => {
        done += 1;
        if (done !== conversations && done !== timesOfHeap * conversations) return;
        collectGarbage();
        heaps.push(process.memoryUsage().heapUsed);
      },
    );
    const [first = Number.NaN, last = Number.NaN] = heaps;
    const module = join(folder, "stack.ts");
    writeFileSync(module, moduleText);
    const ids = Array.from({ length: timesOfThreads }).flatMap(() => long);
    const one = await wallMs(ids, { url, module, jobs: 1 });
    const two = await wallMs(ids, { url, module, jobs: 2 });
    const what = `regress, ${ids.length.toLocaleString("en")} conversations of ${exchanges} requests of ${(2 * bytes) / 1_000} KB`;
    const note = `one thread: ${(one / 1_000).toFixed(1)} s`;
    return [
      // 1,000 such conversations then take 80 s of processor time, or 40 s on two cores.
      { name: "regress: a request of 2 KB", ...summary(perRequest), unit: "ms", bound: 4, kind: "at most" },
      { name: `${what}: two threads`, value: two / 1_000, unit: "s", bound: 40, kind: "at most", note },
      { name: `${what}: two threads over one`, value: two / one, unit: "x", bound: 0.65, kind: "at most" },
      {
        name: "regress: heap after 10,000 over after 100",
        value: last / first,
        unit: "x",
        bound: 1.1,
        kind: "at most",
      },
    ];
  });
}

/** Compares conversations with an engine that does the same, and returns how many requests that are. */
async function compareUnchanged(
  store: TurnlogStore,
  ids: readonly string[],
  onConversation: () => void = () => undefined,
): Promise<number> {
  const same = createEngine({ provider: scripted([], { transport: "json" }) });
  const { compared, requests, differing } = await regress(store, same, { conversations: ids, onConversation });
  if (compared !== requests || differing > 0) throw new Error("the same stack was told to differ");
  return compared;
}

const src = join(import.meta.dirname, "../src");

const moduleText = `
import { createEngine } from ${JSON.stringify(join(src, "index.ts"))};
import { scripted } from ${JSON.stringify(join(src, "entries/testing.ts"))};
export const engine = createEngine({ provider: scripted([], { transport: "json" }) });
`;

type Threads = { readonly url: string; readonly module: string; readonly jobs: number };

async function wallMs(ids: readonly string[], { url, module, jobs }: Threads): Promise<number> {
  const start = performance.now();
  const { signal } = new AbortController();
  const task = {
    ...{ store: url, bundle: null, with: module, compareWith: null, without: null, recordedPolicies: false },
    ...{ config: null, prices: null, priceAs: null, isOtherWorld: false },
  };
  for await (const { differs } of compareInThreads(ids, { task, jobs, signal, onPrinted: () => undefined }))
    if (differs) throw new Error("the same stack was told to differ");
  return performance.now() - start;
}
