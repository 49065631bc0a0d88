import type { ConversationOrigin } from "./events/conversation-events.ts";

/** What `decide` asks for, and nothing else: what people look at are projections. */
export type ConversationState = {
  /** Null before the first event. */
  origin: ConversationOrigin | null;
  /** Ids of blocks appended from outside a run. */
  readonly blockIds: Ids;
  readonly settings: Ids;
  title: string | null;
  readonly labels: Names<string>;
  /** Responses, by scope and id, and scopes (with the id null) that are not continued from. */
  readonly invalid: Names<boolean>;
  /** What endpoints were seen to do, by scope and capability. */
  readonly learned: Names<boolean | string>;
  readonly quarantined: Ids;
  /** Calls whose tool came back too late. */
  readonly lateTools: Ids;
  /** Every run there ever was. */
  readonly runIds: Ids;
  run: RunState | null;
};

export type RunState = {
  readonly id: string;
  /** How often it was taken up: whoever took it up last owns it. */
  epoch: number;
  readonly inferences: Names<"open" | "closed">;
  /** Tool calls and effects of layers, by block id: each is decided by its own newest event. */
  readonly effects: Names<"started" | "parked" | "may-rerun" | "settled" | "finished">;
};

type Ids = Pick<Set<string>, "has"> & { readonly add: (id: string) => unknown };
type Names<V> = Pick<Map<string, V>, "has" | "get"> & { readonly set: (name: string, value: V) => unknown };

export const initialState = (): ConversationState => ({
  origin: null,
  blockIds: new Set(),
  settings: new Set(),
  title: null,
  labels: new Map(),
  invalid: new Map(),
  learned: new Map(),
  quarantined: new Set(),
  lateTools: new Set(),
  runIds: new Set(),
  run: null,
});

/** A state to try events on: what is evolved on it does not reach the one below. */
export function draftState(state: ConversationState): ConversationState {
  const { run } = state;
  return {
    origin: state.origin,
    blockIds: idsAbove(state.blockIds),
    settings: idsAbove(state.settings),
    title: state.title,
    labels: namesAbove(state.labels),
    invalid: namesAbove(state.invalid),
    learned: namesAbove(state.learned),
    quarantined: idsAbove(state.quarantined),
    lateTools: idsAbove(state.lateTools),
    runIds: idsAbove(state.runIds),
    run: run === null ? null : draftRun(run),
  };
}

const draftRun = ({ id, epoch, inferences, effects }: RunState): RunState => ({
  id,
  epoch,
  inferences: namesAbove(inferences),
  effects: namesAbove(effects),
});

function idsAbove(below: Ids): Ids {
  const own = new Set<string>();
  return { has: (id) => own.has(id) || below.has(id), add: (id) => own.add(id) };
}

function namesAbove<V>(below: Names<V>): Names<V> {
  const own = new Map<string, V>();
  return {
    has: (name) => own.has(name) || below.has(name),
    get: (name) => own.get(name) ?? below.get(name),
    set: (name, value) => own.set(name, value),
  };
}
