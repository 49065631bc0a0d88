import type { JsonObject } from "../../../src/base/json.ts";
import type { Actor } from "../../../src/domain/actor.ts";
import { Block } from "../../../src/domain/block.ts";
import { plainNames } from "../../../src/domain/block-names.ts";
import type { BlockId, SettingsName } from "../../../src/domain/ids.ts";
import { assistant } from "../../../src/domain/make-block.ts";
import type { Turn } from "../../../src/domain/turn.ts";
import { defaultChainPolicy } from "../../../src/engine/options/chain-policy.ts";
import type { ContextLookup, PlanRequest } from "../../../src/engine/planning/plan-request.ts";
import { settingsName } from "../../../src/engine/planning/request-settings.ts";
import type { Invalidation, ServerContext } from "../../../src/projections/server-contexts/server-contexts.ts";
import { responsesCodec } from "../../../src/providers/responses/responses-codec.ts";
import { defaultCapabilities } from "../../../src/providers/settings/capabilities.ts";
import { blockId } from "../domain/turn-builders.ts";
import { now, scope } from "./exchange.ts";

/** A response of one message, as the n-th block of a test: the inference `inf_<n>` answered it. */
export const replied = (n: number, text = `answer ${n}`): Block =>
  assistant(text)
    .withId(blockId(n))
    .withWire({ scope, itemId: `msg_${n}`, group: { id: `inf_${n}`, index: 0, size: 1, stored: true } });

/** A response of one reasoning item and one message: its blocks are the n-th and the one after. */
export function thought(n: number): readonly [Block, Block] {
  const group = (index: number) => ({ id: `inf_${n}`, index, size: 2, stored: true });
  const payload = { type: "reasoning", summary: [{ type: "text", text: "hm" }] };
  const wire = { scope, itemId: `rs_${n}`, group: group(0) };
  return [
    new Block({ id: blockId(n), kind: "reasoning", payload, wire }),
    replied(n + 1).withWire({ scope, itemId: `msg_${n + 1}`, group: group(1) }),
  ];
}

/** What a server holds after it answered: the Turn ends with the answer of `inf_<n>`, of `output` blocks. */
export function holding(
  turn: Turn,
  n: number,
  changes: Partial<ServerContext> & { readonly output?: number } = {},
): ServerContext {
  const { output = 1, ...rest } = changes;
  return {
    responseId: `resp_${n}`,
    inferenceId: `inf_${n}`,
    stream: "",
    revision: n,
    index: n,
    at: now,
    scope,
    anchor: changes.unusable === "no-id" ? null : { kind: "response", id: `resp_${n}` },
    settingsDigest: digestOf({ model: "m" }),
    turn: turn.digest,
    held: turn.digest,
    inputLength: turn.length - output,
    length: turn.length,
    parent: null,
    unusable: null,
    tokens: null,
    ...rest,
  };
}

export type Known = {
  /** In the order of the log: the last one is the newest. */
  readonly contexts?: readonly ServerContext[];
  /** The newest context as a Turn. */
  readonly newestTurn?: Turn;
  readonly invalid?: Readonly<Record<string, Invalidation>>;
  readonly settings?: readonly JsonObject[];
  readonly actors?: { readonly author?: Actor; readonly remover?: Actor; readonly mover?: Actor };
};

/** A request to plan: of this Turn, with what is known; `changes` replaces the rest. */
export function asked(turn: Turn, known: Known = {}, changes: Partial<PlanRequest> = {}): PlanRequest {
  const settings = changes.settings ?? { model: "m" };
  const { author, remover, mover } = known.actors ?? {};
  return {
    turn,
    contexts: lookup(known),
    provenance: {
      authorOf: () => author ?? null,
      removerOf: () => remover ?? null,
      ...(mover === undefined ? {} : { moverOf: (_: BlockId) => mover }),
    },
    scope,
    codec: responsesCodec,
    transport: "json",
    capabilities: defaultCapabilities,
    settings,
    settingsDigest: digestOf(settings),
    policy: defaultChainPolicy,
    now,
    ...changes,
  };
}

const digestOf = (settings: JsonObject): SettingsName => settingsName(settings, plainNames);

function lookup({ contexts = [], newestTurn, invalid = {}, settings = [] }: Known): ContextLookup {
  const declared = new Map<string, JsonObject>([{ model: "m" }, ...settings].map((each) => [digestOf(each), each]));
  return {
    byTurn: (digest) => contexts.filter((context) => context.turn === digest && context.unusable !== "no-id"),
    ofTurn: (digest) => contexts.filter((context) => context.turn === digest),
    ofInference: (inferenceId) => contexts.find((context) => context.inferenceId === inferenceId) ?? null,
    object: () => null,
    isCut: () => false,
    usedUp: () => null,
    newest: (wanted) => {
      const context = contexts.findLast((each) => each.scope === wanted && each.unusable !== "no-id");
      return context === undefined ? null : { context, turn: newestTurn ?? null };
    },
    latest: (wanted) => contexts.findLast((each) => each.scope === wanted) ?? null,
    invalidation: ({ responseId }) => invalid[responseId] ?? null,
    settings: (digest) => declared.get(digest) ?? {},
    hasErasedSettings: () => false,
    quarantined: new Set(),
  };
}

/** The digest of settings as a context names them. */
export const settingsOf = (settings: JsonObject): { readonly settingsDigest: SettingsName } => ({
  settingsDigest: digestOf(settings),
});
