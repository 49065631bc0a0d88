import { TurnlogStore } from "./conversation/turnlog-store.ts";
import type { ConversationId } from "./domain/ids.ts";
import type { AnyEngine } from "./engine/stack/engine.ts";
import type { EventReader } from "./log/codec/event-log.ts";
import {
  type Counterfactual,
  type CounterfactualOptions as EveryOption,
  counterfactual as inScratch,
} from "./replay/counterfactual.ts";
import { createMemoryStore } from "./stores/memory/store.ts";

/** The scratch store is one in memory, unless another is given. */
export type CounterfactualOptions = Omit<EveryOption, "openScratch"> & Partial<Pick<EveryOption, "openScratch">>;

/**
 * What would have been with another stack: it is run anew, in a store of its own, and whatever it asks outside is answered
 * from the log. It plans, edits and records as every run does, on the ids, the numbers and the time that it had then, so that
 * what it shows is what would have happened.
 *
 * @throws {TurnlogError} `layer-not-found` when there is no layer of that name.
 * @throws {TurnlogError} `revision-not-found` when there is no such revision.
 */
export const counterfactual = (
  reader: EventReader,
  id: ConversationId,
  engine: AnyEngine,
  options: CounterfactualOptions,
): Promise<Counterfactual> => inScratch(reader, id, engine, { openScratch: inMemory, ...options });

const inMemory = (clock: () => number): TurnlogStore => new TurnlogStore(createMemoryStore(), { clock });
