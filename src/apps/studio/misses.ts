import { readBilled } from "../../analysis/costs/billed-rows.ts";
import { cacheSum } from "../../analysis/costs/prices/cache-sum.ts";
import type { PriceFile } from "../../analysis/costs/prices/price-file.ts";
import { cellsOf } from "../../analysis/costs/rows/bill.ts";
import type { BillCell } from "../../analysis/costs/rows/bill-cells.ts";
import { caching } from "../../analysis/costs/rows/rows.ts";
import { timeOf } from "../../analysis/lists/since.ts";
import { type ConversationId, conversationStream } from "../../domain/ids.ts";
import { tryToRead } from "../../log/codec/recorded.ts";
import type { EventStore } from "../../log/ports/event-store.ts";
import type { MissesDocument } from "./misses-document.ts";
import { CostReader } from "./request-costs.ts";

/** How many requests the document names, and how many conversations are read for them at most. */
const [mostMisses, mostRead] = [12, 40];

/** A request that missed, before it is priced. */
type Missed = { readonly revision: number; readonly at: string; readonly cells: readonly BillCell[] };

/** The requests of a store that paid again for what a prompt cache had. Rows know sums only: the worst are in the events. */
export class Misses {
  readonly #events: EventStore;
  readonly #known = new Map<ConversationId, { readonly digest: string; readonly missed: readonly Missed[] }>();

  constructor(events: EventStore) {
    this.#events = events;
  }

  async document(from: string | null, prices: PriceFile | null): Promise<MissesDocument> {
    const since = from === null ? "" : timeOf("misses", from);
    const { billed } = await readBilled(this.#events, null, { projection: caching });
    const cells = billed.map(({ id, view }) => ({
      id,
      cells: cellsOf(view).filter(({ day }) => day >= since.slice(0, 10)),
    }));
    const sums = cells
      .map((each) => ({ id: each.id, weight: weightOf(each.cells, prices) }))
      .filter(({ weight }) => weight > 0)
      .toSorted((left, right) => right.weight - left.weight);
    const worst: (MissesDocument["worst"][number] & { readonly weight: number })[] = [];
    let read = 0;
    for (const { id, weight } of sums) {
      // No request of a conversation misses more than all of them together.
      if (read >= mostRead || (worst[mostMisses - 1]?.weight ?? 0) >= weight) break;
      read += 1;
      const missed = (await this.#missedIn(id)).filter(({ at }) => at >= since);
      worst.push(...missed.flatMap((each) => rowOf(id, each, prices)));
      worst.sort((left, right) => right.weight - left.weight);
      worst.splice(mostMisses);
    }
    const days = Map.groupBy(
      cells.flatMap((each) => each.cells),
      ({ day }) => day,
    );
    return {
      worst: worst.map(({ weight: _, ...row }) => row),
      ...{ read, conversations: sums.length },
      days: [...days].map(([day, own]) => {
        const { tokens, money } = cacheSum(own, prices);
        return { day, lost: tokens.lost, money };
      }),
    };
  }

  /** The requests of a conversation that missed; read again once it has grown. */
  async #missedIn(id: ConversationId): Promise<readonly Missed[]> {
    const stream = conversationStream(id);
    const digest = (await this.#events.head(stream))?.digest ?? "";
    const known = this.#known.get(id);
    if (known?.digest === digest) return known.missed;
    const missed: Missed[] = [];
    const costs = new CostReader(stream);
    const asked = new Map<string, { readonly revision: number; readonly at: string }>();
    for await (const envelope of this.#events.readStream(stream)) {
      const recorded = await tryToRead(this.#events, envelope);
      if (recorded instanceof Error) continue;
      const { revision, at, event } = recorded;
      const { miss, cells } = costs.take(recorded);
      if (!("inferenceId" in event.data)) continue;
      const { inferenceId } = event.data;
      if (event.type === "InferenceRequested" || event.type === "WarmUpRequested")
        asked.set(inferenceId, { revision, at });
      if (miss !== null && miss.lost > 0) missed.push({ ...(asked.get(inferenceId) ?? { revision, at }), cells });
    }
    if (this.#known.size > 500) this.#known.clear();
    this.#known.set(id, { digest, missed });
    return missed;
  }
}

/** Money with prices, else tokens. */
function weightOf(cells: readonly BillCell[], prices: PriceFile | null): number {
  const { tokens, money } = cacheSum(cells, prices);
  return prices === null ? tokens.lost : Number(money ?? 0);
}

function rowOf(conversation: ConversationId, { revision, at, cells }: Missed, prices: PriceFile | null) {
  return cacheSum(cells, prices).misses.map(({ cause, author, lost, money }) => {
    const written = cells
      .filter((cell) => cell.cause === cause)
      .flatMap((cell) => Object.values(cell.written))
      .reduce((sum, tokens) => sum + tokens, 0);
    const weight = prices === null ? lost : Number(money ?? 0);
    return { conversation, revision, at, cause, author, lost, written, money, weight };
  });
}
