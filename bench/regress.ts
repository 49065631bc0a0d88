import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { compareInThreads } from "../src/cli/regress/thread-pool.ts";
import { createEngine } from "../src/engine/stack/create-engine.ts";
import { regress } from "../src/lab/regress.ts";
import { openStore } from "../src/open-store.ts";
import { scripted } from "../src/providers/scripted/scripted.ts";
import { collectGarbage } from "./collect-garbage.ts";
import { type BenchRow, summary } from "./row.ts";
import { chat, inFolder } from "./sample.ts";

const conversations = 100;
const exchanges = 20;
const bytes = 1_000;
const rounds = 2;

/**
 * What a comparison of 100 unchanged conversations of 20 requests costs: the processor time of a request, how much faster two threads are than
 * one (on two free cores), and how its heap grows with the number of conversations.
 */
export function benchRegress(): Promise<readonly BenchRow[]> {
  return inFolder(async (folder) => {
    const url = `sqlite:${join(folder, "regress.db")}`;
    await using store = await openStore(url);
    const ids = Array.from({ length: conversations }, (_, n) => `cnv_${n}`);
    for (const id of ids) await chat(store.conversation(id), { exchanges, bytes });
    const changed = createEngine({ provider: scripted([], { transport: "json" }) });
    const perRequest: number[] = [];
    const growth: number[] = [];
    // The first round warms up.
    for (let round = 0; round <= rounds + 1; round += 1) {
      const heaps: number[] = [];
      let done = 0;
      const onConversation = (): void => {
        done += 1;
        if (done % (conversations / 5) !== 0) return;
        collectGarbage();
        heaps.push(process.memoryUsage().heapUsed);
      };
      const start = process.cpuUsage();
      // The last round is measured for its heap, because collecting garbage takes time.
      const isOfHeap = round === rounds + 1;
      const { compared, differing } = await regress(store, changed, isOfHeap ? { onConversation } : {});
      const { user, system } = process.cpuUsage(start);
      if (compared !== conversations * exchanges || differing > 0) throw new Error("the same stack was told to differ");
      const [first = Number.NaN] = heaps;
      if (isOfHeap) growth.push((heaps.at(-1) ?? Number.NaN) / first);
      else if (round > 0) perRequest.push((user + system) / 1_000 / compared);
    }
    const module = join(folder, "stack.ts");
    writeFileSync(module, moduleText);
    const ratios: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const one = await wallMs(ids, { url, module, jobs: 1 });
      ratios.push((await wallMs(ids, { url, module, jobs: 2 })) / one);
    }
    const what = `regress, ${conversations} conversations of ${exchanges} requests`;
    return [
      // 1,000 such conversations then take 80 s of processor time, or 40 s on two cores.
      { name: `${what}: a request`, ...summary(perRequest), unit: "ms", bound: 4, kind: "at most" },
      { name: `${what}: two threads over one`, ...summary(ratios), unit: "x", bound: 0.65, kind: "at most" },
      {
        name: `${what}: heap after all over after a fifth`,
        ...summary(growth),
        unit: "x",
        bound: 1.1,
        kind: "at most",
      },
    ];
  });
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
