import type { JsonValue } from "../../base/json.ts";
import { anchorName } from "../../domain/anchor.ts";
import { learnedName } from "../../domain/events/server-events.ts";
import { notRead } from "../../domain/not-read.ts";
import type { Turn } from "../../domain/turn.ts";
import { lastChange } from "../../projections/client-turn/blame.ts";
import type { RunTurns } from "../../projections/client-turn/run-turns.ts";
import {
  declaredSettingsOf,
  type Invalidation,
  type ServerContext,
  type ServerContextsView,
  type StreamRevision,
} from "../../projections/server-contexts/server-contexts.ts";
import type { ConversationView } from "../../projections/views/conversation-view.ts";
import type { Capabilities } from "../ports/capabilities.ts";
import type { Provider } from "../ports/provider.ts";
import type { Provenance } from "./divergence.ts";
import { withoutFirst } from "./instruction-blocks.ts";
import type { ContextLookup, PlanRequest, UsedUp } from "./plan-request.ts";

/** The contexts of a conversation, from its log. */
export function contextsOf(view: ConversationView): ContextLookup {
  const { server, newest, latest } = view;
  return {
    byTurn: (digest) => server.contexts.byTurn(digest),
    ofTurn: (digest) => server.contexts.ofTurn(digest),
    ofInference: (inferenceId) => server.contexts.ofInference(inferenceId),
    object: (scope) => server.objects.get(scope) ?? null,
    isCut: (object) => server.cutObjects.has(anchorName(object)),
    usedUp: (context) => usedUp(server, context),
    newest: (scope) => asHeld(view, newest.get(scope)),
    latest: (scope) => (latest.get(scope) ?? newest.get(scope))?.context ?? null,
    invalidation: (context) => invalidationOf(server, context),
    settings: (digest) => declaredSettingsOf(server, digest),
    hasErasedSettings: (digest) => server.erasedSettings.has(digest),
    quarantined: server.quarantined,
  };
}

/** How a layer's request outside the conversation is planned: it continues from nothing. */
export const besideConversation = (contexts: ContextLookup): Pick<PlanRequest, "contexts" | "full"> => ({
  contexts: { ...contexts, newest: () => null },
  full: "aside",
});

/**
 * The tokens that an endpoint has counted of a Turn: of its longest prefix that the endpoint has answered, with the answer. Null if
 * it has reported none.
 */
export function countedIn(turn: Turn, { ofTurn }: Pick<ContextLookup, "ofTurn">, scope: string): CountedTurn | null {
  for (const { length, digest } of turn.contexts()) {
    const counted = ofTurn(digest).findLast((context) => context.scope === scope && context.tokens !== null);
    if (counted !== undefined && counted.tokens !== null) return { tokens: counted.tokens, length };
  }
  return null;
}

/** A token count, and the number of blocks that it covers. */
export type CountedTurn = { readonly tokens: number; readonly length: number };

type Received = { readonly context: ServerContext; readonly turn: Turn };

/** Adds the Turn as its server holds it: without the blocks that were sent as instructions. */
export function asHeld(view: ConversationView, received: Received | undefined): Received | null {
  if (received === undefined) return null;
  const { context, turn } = received;
  return { context, turn: withoutFirst(view, turn, turn.length - context.length) };
}

/**
 * The capabilities of an endpoint: as this process has observed them, else as the caller has configured them, else as this
 * conversation has observed them.
 */
export function learnedCapabilities(
  provider: Pick<Provider, "scope" | "capabilities" | "configured" | "settings">,
  view: ConversationView,
  here: ReadonlyMap<string, JsonValue> = new Map(),
): Capabilities {
  const learned = view.server.learned.get(provider.scope) ?? new Map<string, JsonValue>();
  const { capabilities, configured = [], settings } = provider;
  const { model } = settings;
  const read = (capability: string): JsonValue | undefined => {
    const names = [capability, ...(typeof model === "string" ? [learnedName({ capability, model })] : [])];
    const seenIn = (known: ReadonlyMap<string, JsonValue>) =>
      names.map((name) => known.get(name)).findLast((value) => value !== undefined);
    const logged = configured.includes(capability) ? undefined : seenIn(learned);
    return seenIn(here) ?? logged ?? capabilities[capability];
  };
  return Object.fromEntries(Object.keys(capabilities).map((name) => [name, read(name)]));
}

/** Who made and removed blocks: as this run knows it, else as the log does. */
export const provenanceOf = (turns: RunTurns | undefined, { client: { blame } }: ConversationView): Provenance => ({
  authorOf: (block) => turns?.authorOf(block) ?? lastChange(blame ?? notRead(), block)?.actor ?? null,
  removerOf: (id) => turns?.removerOf(id) ?? (blame ?? notRead()).get(id)?.removed?.actor ?? null,
  moverOf: (id) => turns?.moverOf(id) ?? null,
});

/**
 * Why an anchor that can be continued only once may not be continued from a context, by the log; null if it may.
 *
 * @param counts - Whether an event at a place counts; absent, every event does.
 */
export function usedUp(
  server: ServerContextsView,
  { scope, anchor, stream, index }: ServerContext,
  counts: (place: StreamRevision) => boolean = () => true,
): UsedUp | null {
  if (anchor === null) return null;
  if (stream !== server.stream) return "inherited";
  const named = { scope, anchor };
  const continuation = server.contexts.continuationOf(named, index + 1);
  if (continuation !== null && counts(continuation)) return "continued";
  const lost = server.unanswered.get(anchorName(named));
  return lost !== undefined && counts(lost) ? "maybe-continued" : null;
}

/** The invalidation of a context, from the fold that records it. */
export function invalidationOf(server: ServerContextsView, context: ServerContext): Invalidation | null {
  const one = server.invalidResponses.get(anchorName(context));
  if (one !== undefined) return one;
  const all = server.invalidScopes.get(context.scope);
  return all !== undefined && context.index < all.contexts ? all : null;
}
