import { anything, optionsOf } from "../base/options.ts";
import type { Anchor } from "../domain/anchor.ts";
import { isRequest } from "../domain/events/event.ts";
import type { ProposedEvent, ReadEvent } from "../domain/events/recorded.ts";
import { anchorKind } from "../engine/ports/anchor-kind.ts";
import type { Provider } from "../engine/ports/provider.ts";
import { ProviderError } from "../engine/ports/provider-error.ts";
import type { ConversationWriter } from "../log/writer/conversation-writer.ts";
import { RunInProgressError } from "../log/writer/owner.ts";
import { readOwn } from "../log/writer/read-conversation.ts";
import { type ActorOption, checkedByWhom } from "./conversation-options.ts";

export type DeleteStoredOptions = ActorOption & {
  /** Aborting it stops further deletions. */
  readonly signal?: AbortSignal;
};

/** The outcome for the responses and conversation objects that a server stored for a conversation, by their ids. */
export type DeletedStored = {
  readonly deleted: readonly string[];
  /** Those that the server no longer had. */
  readonly missing: readonly string[];
  /** Those with an unknown outcome: deleting again retries them. */
  readonly failed: readonly { readonly id: string; readonly error: ProviderError }[];
};

const deleteOptions = optionsOf<DeleteStoredOptions>({ actor: anything, signal: anything });

/** Deletes what a server stored for a conversation: from the first event on, nothing continues from it. */
export async function deleteStored(
  stream: ConversationWriter,
  provider: Provider,
  options: DeleteStoredOptions,
): Promise<DeletedStored> {
  deleteOptions.check("deleteStored", options);
  if (provider.delete === undefined)
    throw new TypeError(
      `deleteStored: the provider ${provider.name} cannot delete responses: give one that can, such as openaiResponses`,
    );
  const { signal = new AbortController().signal, ...byWhom } = options;
  const actor = checkedByWhom("deleteStored", { actor: { kind: "app" }, ...byWhom });
  await stream.refresh();
  const { run } = stream.view.client;
  if (run !== null) throw new RunInProgressError(run.id, run.owner);
  const commit = async (entries: readonly ProposedEvent[]): Promise<void> => {
    const result = await stream.commit(entries);
    if (result.status === "rejected") throw new Error(`refused: ${JSON.stringify(result.rejection)}`);
  };
  const { scope } = provider;
  const stored: StoredAnchors = (await storedAnchors(readOwn(stream, 0))).get(scope) ?? new Map();
  const isObject = (anchor: Anchor): boolean => anchorKind(provider.codec, anchor)?.isObject === true;
  if ([...stored.values()].some(isObject) && provider.deleteConversation === undefined)
    throw new TypeError(
      `deleteStored: this conversation has a conversation object, which the provider ${provider.name} cannot delete: give one that can, such as openaiResponses`,
    );
  const deleted: string[] = [];
  const missing: string[] = [];
  const failed: { readonly id: string; readonly error: ProviderError }[] = [];
  const intents = [...stored.values()].map(({ isNamed: _, ...anchor }): ProposedEvent => {
    return { event: { type: "AnchorInvalidated", version: 1, data: { scope, anchor, reason: "deleted" } }, actor };
  });
  for (let from = 0; from < intents.length; from += maxIntents) await commit(intents.slice(from, from + maxIntents));
  for (const [id, { isNamed: _, ...anchor }] of stored) {
    if (signal.aborted) break;
    try {
      const found = await isFound(() =>
        isObject(anchor) ? provider.deleteConversation?.(id, { signal }) : provider.delete?.(id, { signal }),
      );
      const event: ProposedEvent["event"] = isObject(anchor)
        ? { type: "ServerConversationDeleted", version: 1, data: { scope, anchor, found } }
        : { type: "ResponseDeleted", version: 1, data: { scope, responseId: id, found } };
      await commit([{ event, actor }]);
      (found ? deleted : missing).push(id);
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      failed.push({ id, error });
    }
  }
  return { deleted, missing, failed };
}

/** How many intents one append holds. */
const maxIntents = 1_000;

async function isFound(deletion: () => Promise<void> | undefined): Promise<boolean> {
  try {
    await deletion();
    return true;
  } catch (error) {
    if (error instanceof ProviderError && error.status === 404) return false;
    throw error;
  }
}

/** Responses and conversation objects by their ids; `isNamed`: a server gave it a name to continue from, so it stored it. */
type StoredAnchors = ReadonlyMap<string, Anchor & { readonly isNamed: boolean }>;

/**
 * The responses that servers may still hold, by scope and id, including those that layers asked for outside the conversation and those
 * that were not awaited to the end; then the conversation objects that were made for it, including those that it has left. What a fork
 * inherited belongs to its parent.
 */
async function storedAnchors(events: AsyncIterable<ReadEvent>): Promise<ReadonlyMap<string, StoredAnchors>> {
  const stored = createAnchors();
  const objects = createAnchors();
  const asked = new Map<string, string>();
  for await (const { event } of events) {
    // It is unknown whether a server stored anything for it.
    if (event.type === "skipped") continue;
    if (isRequest(event)) asked.set(event.data.inferenceId, event.data.scope);
    if (event.type === "ResponseDeleted") stored.of(event.data.scope).delete(event.data.responseId);
    if (event.type === "ServerConversationChanged")
      objects.of(event.data.scope).set(event.data.anchor.id, { ...event.data.anchor, isNamed: true });
    if (event.type === "ServerConversationDeleted") objects.of(event.data.scope).delete(event.data.anchor.id);
    if (event.type !== "ResponseStarted" && event.type !== "ResponseReceived" && event.type !== "WarmUpAnswered")
      continue;
    const { inferenceId, responseId } = event.data;
    const scope = asked.get(inferenceId);
    if (scope === undefined || responseId === null) continue;
    const named = event.type === "ResponseStarted" ? undefined : event.data.anchor;
    const { unusable, ...anchor } = named ?? { kind: "response", id: responseId };
    const isNamed = named !== undefined || event.type === "ResponseStarted";
    if (unusable === "not-stored") stored.of(scope).delete(responseId);
    else stored.of(scope).set(responseId, { ...anchor, isNamed });
  }
  const scopes = new Set([...stored.scopes(), ...objects.scopes()]);
  return new Map([...scopes].map((scope) => [scope, new Map([...stored.of(scope), ...objects.of(scope)])]));
}

function createAnchors() {
  const byScope = new Map<string, Map<string, Anchor & { readonly isNamed: boolean }>>();
  return {
    scopes: () => byScope.keys(),
    of(scope: string) {
      const known = byScope.get(scope) ?? new Map<string, Anchor & { readonly isNamed: boolean }>();
      byScope.set(scope, known);
      return known;
    },
  };
}

/** How many responses and objects servers may still hold of a conversation, as far as the servers named them. */
export async function countStored(events: AsyncIterable<ReadEvent>): Promise<number> {
  const anchors = [...(await storedAnchors(events)).values()].flatMap((stored) => [...stored.values()]);
  return anchors.filter(({ isNamed }) => isNamed).length;
}

/** Deletes what several servers stored for a conversation, as far as each can, and counts what servers may still hold. */
export async function deleteAtProviders(
  stream: ConversationWriter,
  providers: readonly Provider[],
  options: ActorOption,
): Promise<{ readonly deleted: number; readonly missing: number; readonly failed: number; readonly left: number }> {
  const counts = { deleted: 0, missing: 0, failed: 0 };
  for (const provider of providers) {
    if (provider.delete === undefined) continue;
    const { deleted, missing, failed } = await deleteStored(stream, provider, options);
    counts.deleted += deleted.length;
    counts.missing += missing.length;
    counts.failed += failed.length;
  }
  await stream.refresh();
  return { ...counts, left: await countStored(readOwn(stream, 0)) };
}
