import type { ConversationEvent } from "../domain/events/event.ts";

/**
 * The parts of an event's data that a redacted bundle keeps: `kept` unchanged, `named` by name only. `[]` is each item of a list.
 * Everything else is hidden, including the names of members: even a member called `id` or `name` may be content.
 */
export type KeptPaths = { readonly kept: readonly string[]; readonly named: readonly string[] };

const under = (place: string, { kept, named }: KeptPaths): KeptPaths => ({
  kept: kept.map((path) => `${place}.${path}`),
  named: named.map((path) => `${place}.${path}`),
});

const all = (...parts: readonly KeptPaths[]): KeptPaths => ({
  kept: parts.flatMap(({ kept }) => kept),
  named: parts.flatMap(({ named }) => named),
});

const kept = (...paths: readonly string[]): KeptPaths => ({ kept: paths, named: [] });
const named = (...paths: readonly string[]): KeptPaths => ({ kept: [], named: paths });

/** A part of a content, an output or a summary. */
const part = all(kept("type"), named("text", "refusal"));

const block = all(
  kept("id", "kind", "digest", "payload.type", "payload.role", "payload.phase", "payload.callId"),
  ...["payload.content[]", "payload.output[]", "payload.summary[]"].map((place) => under(place, part)),
  named("payload.name", "payload.arguments", "wire.scope", "wire.ciphertext", "wire.residue"),
  kept(
    "wire.itemId",
    "wire.group.id",
    "wire.group.index",
    "wire.group.size",
    "wire.group.stored",
    "wire.partial",
    "wire.incomplete",
    "wire.paused",
    "wire.compacts",
  ),
);

const content = all(under("block", block), kept("ref.id", "ref.digest"));

const edits = all(
  kept("edits[].op", "edits[].after", "edits[].blockId", "edits[].blockIds[]"),
  under("edits[].blocks[]", content),
  under("edits[].block", content),
);

const compaction = kept("how", "because", "tokens", "limit");

const timings = all(
  kept("timings[].frame", "timings[].layer", "timings[].direction", "timings[].ms", "timings[].withoutNext"),
  kept("timings[].swallowed[].frame"),
  named("timings[].swallowed[].message"),
);

/** Host, boot and other details of the process belong to its owner. */
const ownership = all(
  kept("epoch", "owner.processId", "owner.pid", "owner.startedAt", "owner.lease.storeId", "owner.lease.id"),
  named("owner.bootId", "owner.host", "owner.pidNamespace"),
  kept("stack[].name", "stack[].version", "stack[].configDigest"),
);

const divergence = kept(
  ...["rejected.divergence.index", "rejected.divergence.blockId", "rejected.divergence.change"],
  "rejected.divergence.actor.kind",
);

const decision = all(
  kept(
    "strategy",
    "reason",
    "anchor",
    "anchor.kind",
    "anchor.id",
    "anchor.inferenceId",
    "anchor.length",
    "sendFrom",
    "back",
  ),
  kept(
    "changedSettings[]",
    "now",
    "rejected",
    "rejected.anchor.kind",
    "rejected.anchor.id",
    "rejected.reason",
    "rejected.divergence",
  ),
  kept("repairs[].rule", "repairs[].index", "repairs[].detail.reason", "repairs[].detail.before"),
  kept("repairs[].detail.callId", "repairs[].detail.parts[]", "repairs[].detail.instead", "transport"),
  kept("capabilities.chain", "capabilities.echo", "capabilities.storeDefault", "capabilities.emptyInput"),
  kept("capabilities.encryptedReasoning", "capabilities.itemIds", "capabilities.reasoningPrefix"),
  kept("capabilities.lanes", "capabilities.counts"),
  divergence,
  named("rejected.divergence.actor.name"),
);

const settings = all(
  kept(
    "model",
    "store",
    "background",
    "truncation",
    "service_tier",
    "parallel_tool_calls",
    "include[]",
    "tools[].type",
  ),
  kept("temperature", "top_p", "max_output_tokens", "max_tool_calls"),
  named("instructions", "metadata", "reasoning", "text", "tool_choice", "tools[].name"),
);

const tokens = all(
  kept("input", "cacheRead", "output", "reasoning"),
  kept("cacheWritten.5m", "cacheWritten.30m", "cacheWritten.1h", "cacheWritten.12h", "cacheWritten.any"),
);

const usage = all(
  kept("inputTokens", "cachedInputTokens", "outputTokens", "reasoningTokens"),
  under("counts", tokens),
  kept("counts.served", "counts.tier", "counts.usd", "counts.iterations[].type", "counts.iterations[].model"),
  under("counts.iterations[]", tokens),
);

/** Names and levels, without any content. */
const filtered = kept("contentFilters[].source", "contentFilters[].blocked", "contentFilters[].results");

const answered = all(
  kept("inferenceId", "responseId", "status", "isComplete", "isMasked", "echoed[]", "requestId", "firstMs"),
  under("output[]", block),
  under("usage", usage),
  kept("anchor.kind", "anchor.id", "anchor.unusable", "echo.anchor", "failure.code"),
  kept("withheld[].itemId", "withheld[].reason"),
  filtered,
  kept("rest.object", "rest.created_at", "rest.model", "rest.store"),
  named("failure.message"),
);

const failed = all(
  kept("inferenceId", "kind", "outcome", "status", "code", "retryAfterMs", "shouldRetry", "retryInMs", "requestId"),
  kept("next", "next.route"),
  under("usage", usage),
  filtered,
  named("message", "param", "body", "partial", "next.error"),
);

const requested = all(
  kept("inferenceId", "attempt", "encoder", "settingsDigest", "requestDigest", "requestBytes"),
  kept("input.turn", "input.held", "input.blocks", "input.outgoing"),
  kept("input.bound.others", "input.bound.reasoning", "input.bound.newest"),
  under("decision", decision),
  named("scope"),
);

const ended = all(kept("after", "discardedTools[]"), timings);

/** By event type. The compiler requires every type, so that each new one is considered here. */
export const keptPaths: Readonly<Record<ConversationEvent["type"] | "BlobChunkStored", KeptPaths>> = {
  ConversationStarted: all(
    kept("origin.type", "origin.conversationId", "origin.revision", "origin.digest", "origin.runId", "origin.blockId"),
    kept("origin.head.revision", "origin.head.digest"),
    named("origin.source", "title", "labels"),
  ),
  ConversationRelabelled: named("title", "labels"),
  BlockAppended: under("block", block),
  SettingsDeclared: all(kept("digest", "base", "without[]", "bytes"), under("settings", settings)),
  TurnReverted: all(kept("toRevision", "after"), edits),
  TurnCompacted: all(
    kept("after", "window.of", "window.id", "window.model"),
    ...[under("window.usage", usage), under("compaction", compaction), edits, named("window.scope")],
  ),
  EventSkipped: all(kept("revision", "found"), named("reason")),
  RunStarted: all(
    ownership,
    kept(
      "provider.name",
      "provider.codec",
      "settingsDigest",
      "base",
      "chain.mode",
      "chain.chosen",
      "chain.require",
      "chain.onRefused",
      "chain.maxAgeMs",
      "chain.keepReasoningMs",
      "budget.maxInputTokens",
      "budget.maxTotalTokens",
      "budget.onExceeded",
      "compact.beforeRequest",
      "compact.afterRun",
      "compact.how[]",
      "compact.keep",
      "compact.maxResultLength",
      "compact.onTooLong",
      "compact.only",
    ),
    named("compact.summary", "provider.scope", "chain.onSettingsChange"),
  ),
  RunResumed: ownership,
  RunParked: kept("blockIds[]"),
  RunCancelRequested: named("reason"),
  TurnEdited: all(kept("direction", "from", "base", "after"), under("compaction", compaction), edits),
  RunCompleted: all(kept("status"), ended),
  RunFailed: all(kept("kind", "thrownBy.layer", "thrownBy.frame"), ended, named("message")),
  RunCancelled: all(ended, named("reason")),
  StepRouted: all(kept("route"), named("error")),
  InferenceRequested: all(requested, kept("route"), timings),
  WarmUpRequested: requested,
  WarmUpAnswered: answered,
  WarmUpFailed: failed,
  ResponseStarted: all(
    kept("inferenceId", "responseId", "cursor", "first.echoed[]"),
    kept("first.rest.object", "first.rest.created_at", "first.rest.model", "first.rest.status", "first.rest.store"),
  ),
  ContextImported: all(
    kept("inferenceId", "responseId", "anchor.kind", "anchor.id", "settingsDigest", "turn"),
    kept("inputLength", "length", "tokens"),
    named("scope"),
  ),
  ResponseDeleted: all(kept("responseId", "found"), named("scope")),
  ResponseReceived: answered,
  InferenceFailed: failed,
  AnchorInvalidated: all(kept("anchor", "anchor.kind", "anchor.id", "reason"), named("scope")),
  CapabilityLearned: all(kept("capability", "value"), named("scope", "reason")),
  ReasoningQuarantined: all(kept("blockIds[]"), named("scope", "reason")),
  ServerConversationChanged: all(
    kept("anchor", "anchor.kind", "anchor.id", "change", "keeps", "items[]"),
    named("scope"),
  ),
  ServerConversationDeleted: all(kept("anchor", "anchor.kind", "anchor.id", "found"), named("scope")),
  ToolStarted: kept("blockId", "name", "idempotencyKey"),
  ToolFinished: all(kept("blockId", "outcome", "durationMs", "late"), under("result", block)),
  ToolParked: kept("blockId", "name"),
  ToolSettled: all(kept("blockId", "settlement.how"), named("settlement.output")),
  EffectStarted: kept("effectId", "name", "idempotencyKey", "idempotent"),
  EffectFinished: all(kept("effectId", "answer.outcome", "durationMs"), named("answer.value", "answer.message")),
  BlobChunkStored: all(kept("index", "of"), named("text")),
};
