import { type PriceOptions, priceOptions, pricesOf } from "../../analysis/costs/prices.ts";
import { isJsonObject } from "../../base/json.ts";
import { anything, checkFlag, checkFunction, checkSignal, checkWhole, kindOf, optionsOf } from "../../base/options.ts";
import { TurnlogStore } from "../../conversation/turnlog-store.ts";
import { checkedConversationId } from "../../domain/ids.ts";
import { type ContextOf, ContextOfRun } from "../../engine/options/context-of-run.ts";
import { type AnyEngine, checkedEngine, type EngineOptions } from "../../engine/options/engine.ts";
import { changedSettings } from "../../engine/planning/request-settings.ts";
import type { Codec } from "../../engine/ports/codec.ts";
import type { Layer } from "../../engine/ports/middleware.ts";
import type { Codecs } from "../../engine/recorded/recorded-request.ts";
import { withoutLayer } from "../without-layer.ts";
import { withEarlierLayers } from "./aligned-layers.ts";
import { type ChangeList, type FoundAgain, foundIn, type MadeAgain } from "./change-list.ts";
import { type ChosenConversations, chosenConversations } from "./chosen-conversations.ts";
import {
  type Broken,
  blockedConversation,
  type ComparedStacks,
  compareConversation,
  type PlayedRunPair,
} from "./compare-conversation.ts";
import { type ConversationRegression, ConversationSum } from "./conversation-result.ts";
import { type Culprit, gaveInstructions } from "./culprit.ts";
import { type Regression, RegressionSum } from "./summary.ts";
import type { RunSide } from "./track.ts";

/** What to compare a stack with, and where. */
export type RegressOptions = ChosenConversations &
  PriceOptions & {
    /** The stack to compare with; by default the recording itself. */
    readonly compareWith?: AnyEngine;
    /** Compares the engine without this layer with the whole engine. */
    readonly without?: string;
    /** Runs keep the policies that are recorded with them (mode, chain, compaction, budget); by default the engine's count. */
    readonly recordedPolicies?: boolean;
    /** Makes the `ctx.context` of a run; without it, runs that had one are unknown. */
    readonly context?: ContextOf;
    /** The codecs that read recorded answers, by name. Default: those of the store. */
    readonly codecs?: Codecs;
    /** Called with each conversation as soon as it is compared. */
    readonly onConversation?: (result: ConversationRegression) => void;
    /** Ends the comparison after the conversation under way; the result is then not complete. */
    readonly signal?: AbortSignal;
  };

const regressOptions = optionsOf<RegressOptions>({
  compareWith: anything,
  without: anything,
  recordedPolicies: checkFlag,
  context: checkFunction,
  codecs: anything,
  onConversation: checkFunction,
  signal: checkSignal,
  conversations(what, given) {
    if (Array.isArray(given)) return given.map(checkedConversationId);
    throw new TypeError(`${what} is ${kindOf(given)}: give a list of ids`);
  },
  labels(what, given) {
    if (isJsonObject(given) && Object.values(given).every((value) => typeof value === "string"))
      return anything(what, given);
    throw new TypeError(`${what} is ${kindOf(given)}: give { name: "value" }`);
  },
  since: anything,
  sample: checkWhole,
  ...priceOptions,
});

/**
 * Compares what a changed stack would do to recorded conversations with what happened, request by request, answered from the log. It asks
 * no provider, runs no tool, and changes nothing. It compares one conversation after another, in this thread: a layer that blocks the
 * thread, as an endless loop does, blocks the caller, and no time limit can end it.
 *
 *     const { changed, requests, first } = await regress(store, engine);
 *     console.log(`${changed} of ${requests} requests change`, first?.name);
 *
 * @throws {TurnlogError} `layer-not-found` if there is no layer of the name `without`.
 * @throws {TurnlogError} `prices-unusable` if the price file cannot be used.
 * @throws {TypeError} if the store or an engine is not one, or an option is misspelt.
 */
export async function regress(
  store: TurnlogStore,
  engine: AnyEngine,
  options: RegressOptions = {},
): Promise<Regression> {
  if (!(store instanceof TurnlogStore))
    throw new TypeError(`regress takes a store, not ${kindOf(store)}: open one with openStore(url)`);
  regressOptions.check("regress", options);
  const lab = await createLab(store, engine, options);
  const sum = new RegressionSum();
  for await (const id of chosenConversations(store, options)) {
    if (options.signal?.aborted === true) return sum.result(false);
    const { result } = await lab.compare(id);
    sum.add(result);
    options.onConversation?.(result);
  }
  return sum.result(true);
}

/** Compares single conversations by the same options. */
export type Lab = {
  readonly compare: (id: string) => Promise<LabResult>;
  /** The result of a conversation in which a layer blocked the thread: unknown, with this message. */
  readonly blocked: (id: string, message: string) => Promise<ConversationRegression>;
  /** What the changed stack does in these runs of a conversation, whatever it is compared with. */
  readonly traces: (id: string, runIds: readonly string[]) => Promise<readonly RunSide["trace"][]>;
};

/** A compared conversation, and what the changed stack did in the first runs that differ. */
export type LabResult = { readonly result: ConversationRegression; readonly traces: readonly RunSide["trace"][] };

/** How many differing runs are compared with a second execution. */
const maxTraces = 3;

export async function createLab(store: TurnlogStore, engine: AnyEngine, options: RegressOptions): Promise<Lab> {
  const stacks = stacksOf(engine, options);
  const prices = await pricesOf("regress", options);
  const codecs = options.codecs ?? store.codecs;
  const pairsOf = (id: string, compared = stacks) =>
    compareConversation({ id: checkedConversationId(id), log: store.log, codecs }, compared);
  return {
    async compare(id) {
      const sum = new ConversationSum(prices);
      const traces: RunSide["trace"][] = [];
      for await (const pair of pairsOf(id)) {
        sum.add(pair);
        if ("reason" in pair || traces.length === maxTraces) continue;
        if (pair.compared.differences.length > 0 || pair.compared.end !== null) traces.push(pair.now.trace);
      }
      await confirmCulprits(sum.changes, {
        stacks,
        compareAgain: (names) => pairsOf(id, withEarlier(stacks, names)),
      });
      return { result: sum.resultOf(checkedConversationId(id)), traces };
    },
    async blocked(given, message) {
      const id = checkedConversationId(given);
      const sum = new ConversationSum(prices);
      sum.add(await blockedConversation({ id, log: store.log }, message));
      return sum.resultOf(id);
    },
    async traces(id, runIds) {
      const traces: RunSide["trace"][] = [];
      for await (const pair of pairsOf(id)) {
        if ("reason" in pair || !runIds.includes(pair.now.trace.runId)) continue;
        traces.push(pair.now.trace);
        if (traces.length === runIds.length) break;
      }
      return traces;
    },
  };
}

function stacksOf(engine: AnyEngine, options: RegressOptions): ComparedStacks {
  const { compareWith, without = null, recordedPolicies = false, context } = options;
  const inContext = (of: EngineOptions): EngineOptions =>
    context === undefined ? of : { ...of, context: new ContextOfRun(context) };
  const given = inContext(checkedEngine("regress", engine));
  const whole = without === null ? null : given;
  const before = compareWith === undefined ? whole : inContext(checkedEngine("regress: compareWith", compareWith));
  const now = without === null ? given : { ...given, layers: withoutLayer(given.layers, without) };
  return { now, before, without, recordedPolicies, asRecorded: new Set() };
}

/** The stacks, with the earlier version of some layers in the changed one. */
function withEarlier(stacks: ComparedStacks, names: ReadonlySet<string>): ComparedStacks {
  const { now, before } = stacks;
  if (before === null) return { ...stacks, asRecorded: names };
  const restored = {
    names,
    make: (earlier: Layer) => earlier,
  };
  return { ...stacks, now: { ...now, layers: withEarlierLayers(now.layers, before.layers, restored) } };
}

/** How many layers are taken back, one after the other, where several may differ. */
const maxRounds = 3;

type Confirming = {
  readonly stacks: ComparedStacks;
  /** Compares the conversation once more, with the earlier version of these layers. */
  readonly compareAgain: (restored: ReadonlySet<string>) => AsyncIterable<PlayedRunPair | Broken>;
};

/**
 * Where several layers may differ, compares a conversation once more with the earlier version of the first culprit. A request that is
 * then made as before has no other culprit. What still differs names the next one, whose earlier version is taken in addition. If nothing is
 * changed by that, the layer has no part in the request.
 */
async function confirmCulprits(changes: ChangeList, { stacks, compareAgain }: Confirming): Promise<void> {
  // Left out is one layer, and nothing else differs.
  if (!changes.isAmbiguous || stacks.without !== null) return;
  const tried = new Set<string>();
  for (let round = 0; round < maxRounds; round += 1) {
    const layer = changes.openWithout(tried);
    if (layer === null) return;
    tried.add(layer.name);
    const found = new Map<string, MadeAgain | null>();
    for await (const pair of compareAgain(tried)) {
      if ("reason" in pair) continue;
      for (const [place, made] of foundAgain(pair, { stacks, tried })) found.set(place, made);
    }
    changes.settle(layer, found);
  }
}

function foundAgain(
  pair: PlayedRunPair,
  { stacks, tried }: { readonly stacks: ComparedStacks; readonly tried: ReadonlySet<string> },
): FoundAgain {
  const isOfRecording = stacks.before === null;
  const { codec } = stacks.now.provider;
  return foundIn(pair, (culprit) => {
    if (culprit.kind === "unknown" || (culprit.kind === "layer" && tried.has(culprit.name))) return false;
    return !isOfRecording || !maybeOfReplaced(culprit, pair, codec);
  });
}

/** A recorded layer gives no instructions, so instructions that are missing may be those of the layer that it replaces. */
function maybeOfReplaced({ kind, name, how }: Culprit, { now }: PlayedRunPair, codec: Codec): boolean {
  if (kind === "settings") return changedSettings({}, codec.instruct({}, ["text"])).includes(name);
  if (how !== gaveInstructions) return false;
  return !now.trace.requests.some(({ instructions }) => instructions.some(({ layer }) => layer === name));
}
