import type { CacheLoss } from "../../../domain/events/inference-events.ts";
import { recordedLoss } from "../../../engine/recorded/cache-loss.ts";
import { foldWhole } from "../../../log/aggregate/fold.ts";
import type { EventStore } from "../../../log/ports/event-store.ts";
import { createRowProjector, type RowProjector } from "../../../log/read-models/row-projector.ts";
import { ConversationDamagedError } from "../../../projections/damage.ts";
import type { Projection } from "../../../projections/projection.ts";
import type { AnyProjector } from "../../lists/any-projector.ts";
import { answerCounts } from "./answer-counts.ts";
import { answerMisses } from "./answer-misses.ts";
import { type BillView, billOf, cellsOf } from "./bill.ts";

/** What requests of older versions gave up of earlier prompts, by their ids: found by a fold of the whole conversation. */
async function lossesIn(events: EventStore, stream: string): Promise<ReadonlyMap<string, CacheLoss | null>> {
  const head = await events.head(stream);
  let losses = new Map<string, CacheLoss | null>();
  if (head === null) return losses;
  try {
    await foldWhole({ store: events }, stream, head.revision, () => {
      losses = new Map();
      const own = losses;
      return (recorded, view) => {
        const { event } = recorded;
        if (event.type === "InferenceRequested" && event.data.decision.cache === undefined)
          own.set(event.data.inferenceId, recordedLoss(view, recorded));
      };
    });
  } catch (error) {
    // What was found before the damage is right.
    if (!(error instanceof ConversationDamagedError)) throw error;
  }
  return losses;
}

/** Whether a row has requests that nothing has looked at. */
const isLacking = (view: BillView): boolean => cellsOf(view).some(({ cause }) => cause === "not-looked-at");

/**
 * The projector of the rows about caches. A rebuild, and a retry of one row, also looks at the requests of older versions, in a fold of
 * their conversations; rows that only follow the log do not.
 */
export function cacheProjector(events: EventStore, projection: Projection<BillView>): AnyProjector {
  const rows = createRowProjector(events, projection);
  const looking = async (stream: string): Promise<RowProjector<BillView>> => {
    const looked = await lossesIn(events, stream);
    return createRowProjector(events, billOf(answerCounts, { misses: answerMisses, looked }));
  };
  return {
    name: rows.name,
    status: () => rows.status(),
    catchUp: (options) => rows.catchUp(options),
    async rebuild(options = {}) {
      await rows.rebuild(options);
      const lacking: string[] = [];
      for await (const { key, view } of rows.readAll()) if (isLacking(view)) lacking.push(key);
      for (const key of lacking) {
        if (options.signal?.aborted === true) return;
        await (await looking(key)).retry(key);
      }
    },
    retry: async (key) => (await looking(key)).retry(key),
    read: (key) => rows.read(key),
    degraded: () => rows.degraded(),
    async mismatchedRow(stream) {
      const found = await rows.mismatchedRow(stream);
      // The row may have been looked at.
      return found === null ? null : (await looking(stream)).mismatchedRow(stream);
    },
    orphanRows: () => rows.orphanRows(),
  };
}
