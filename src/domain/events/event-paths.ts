import type { ConversationEvent } from "./event.ts";

/**
 * The parts of an event's data, by path; `[]` is each item of a list. Everything that no path names is content: names of members too,
 * because even a member called `id` or `name` may be content.
 *
 * Two readers: redaction of `json` events shows what is `kept` and names what is `named`; events written as lines hold in their first
 * line, the facts, what is `kept` or in `facts`, and cannot lose it by an erasure.
 */
export type EventPaths = {
  readonly kept: readonly string[];
  readonly named: readonly string[];
  /** Facts with everything in them, which redaction of a `json` event does not show. */
  readonly facts: readonly string[];
  /** Content inside of such a fact. */
  readonly content: readonly string[];
  /** Proves what was sent, and so what the content was: a line of its own. */
  readonly proof: readonly string[];
  /** Objects whose content is a line of its own, so that it can be erased alone. */
  readonly lines: readonly string[];
};

const members = ["kept", "named", "facts", "content", "proof", "lines"] as const;

const by = (pathsOf: (member: (typeof members)[number]) => readonly string[]): EventPaths => ({
  kept: pathsOf("kept"),
  named: pathsOf("named"),
  facts: pathsOf("facts"),
  content: pathsOf("content"),
  proof: pathsOf("proof"),
  lines: pathsOf("lines"),
});

const under = (place: string, paths: EventPaths): EventPaths =>
  by((member) => paths[member].map((path) => (path === "" ? place : `${place}.${path}`)));

const all = (...parts: readonly EventPaths[]): EventPaths => by((member) => parts.flatMap((paths) => paths[member]));

const only =
  (wanted: (typeof members)[number]) =>
  (...paths: readonly string[]): EventPaths =>
    by((member) => (member === wanted ? paths : []));

const kept = only("kept");
const named = only("named");
const facts = only("facts");
const proof = only("proof");
/** The object at the place itself is a line of its own. */
const ownLine = only("lines")("");

/** A part of a content, an output or a summary. */
const part = all(kept("type"), named("text", "refusal"));

const block = all(
  ownLine,
  kept("id", "kind", "digest", "erased", "payload.type", "payload.role", "payload.phase", "payload.callId"),
  ...["payload.content[]", "payload.output[]", "payload.summary[]"].map((place) => under(place, part)),
  named("payload.name", "payload.arguments", "wire.scope", "wire.ciphertext", "wire.residue"),
  facts("payload.name", "wire.scope"),
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
  kept("trace.traceId", "trace.spanId", "trace.flags"),
);

const divergence = kept(
  ...["rejected.divergence.index", "rejected.divergence.blockId", "rejected.divergence.change"],
  "rejected.divergence.actor.kind",
);

const decision = all(
  kept("strategy", "reason", "anchor", "anchor.kind", "anchor.id", "anchor.inferenceId", "anchor.length"),
  kept("sendFrom", "back", "changedSettings[]", "now"),
  kept("rejected", "rejected.anchor.kind", "rejected.anchor.id", "rejected.reason", "rejected.divergence"),
  kept("repairs[].rule", "repairs[].index", "repairs[].detail.reason", "repairs[].detail.before"),
  kept("repairs[].detail.callId", "repairs[].detail.parts[]", "repairs[].detail.instead", "transport"),
  kept("capabilities.chain", "capabilities.echo", "capabilities.storeDefault", "capabilities.emptyInput"),
  kept("capabilities.encryptedReasoning", "capabilities.itemIds", "capabilities.reasoningPrefix"),
  kept("capabilities.lanes", "capabilities.counts"),
  divergence,
  named("rejected.divergence.actor.name"),
  kept("capabilities.cacheDiagnostics", "capabilities.cacheBreakpoints", "capabilities.cacheOnThreads"),
  kept("details.breakpoints[]"),
  kept("details.compared", "details.compared.id", "details.compared.inferenceId"),
  kept(
    "cache",
    "cache.against",
    "cache.settings[]",
    "cache.unit",
    "cache.erased",
    "cache.keptBlocks",
    "cache.lostBytes",
  ),
  kept("cache.actor", "cache.actor.kind"),
  named("cache.actor.name"),
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
  kept("max_tokens", "max_completion_tokens", "top_k", "frequency_penalty", "presence_penalty", "seed", "stream"),
  named("instructions", "metadata", "reasoning", "text", "tool_choice", "tools[].name"),
  facts("tools[].name"),
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
  facts("reported", "counts"),
);

/** Names and levels, without any content. */
const filtered = all(
  kept("contentFilters[].source", "contentFilters[].blocked", "contentFilters[].results"),
  facts("contentFilters[].results"),
);

/** What a vendor says of the prompt: its words, and numbers of tokens. */
const diagnosis = kept(
  ...["prompt_cache_diagnostics.type", "prompt_cache_diagnostics.reason"],
  ...["prompt_cache_diagnostics.cache_missed_tokens", "prompt_cache_diagnostics.comparison_reusable_tokens"],
  ...["diagnostics", "diagnostics.cache_miss_reason", "diagnostics.cache_miss_reason.type"],
  "diagnostics.cache_miss_reason.cache_missed_input_tokens",
);

const answered = all(
  kept("inferenceId", "responseId", "status", "isComplete", "isMasked", "echoed[]", "requestId", "firstMs"),
  under("output[]", block),
  under("usage", usage),
  kept("anchor.kind", "anchor.id", "anchor.unusable", "echo.anchor", "failure.code"),
  kept("withheld[].itemId", "withheld[].reason"),
  filtered,
  kept("rest.object", "rest.created_at", "rest.model", "rest.store"),
  under("rest", diagnosis),
  facts("rest.service_tier", "anchor"),
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
  facts("scope", "decision"),
  // A person may have made the change.
  only("content")("decision.rejected.divergence.actor.name"),
  proof("requestDigest"),
);

const ended = all(kept("after", "discardedTools[]"), timings);

/** By event type. The compiler requires every type, so that each new one is considered here. */
export const eventPaths: Readonly<Record<ConversationEvent["type"] | "BlobChunkStored", EventPaths>> = {
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
    ...[
      under("window.usage", usage),
      under("compaction", compaction),
      edits,
      named("window.scope"),
      facts("window.scope"),
    ],
  ),
  EventSkipped: all(kept("revision", "found"), named("reason")),
  AncestorEventsSkipped: kept("conversationId", "revisions[]"),
  LinesErased: kept("orderId", "places[].revisions[]", "places[].lines[]", "blockIds[]"),
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
    facts("provider.scope", "chain"),
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
    facts("scope"),
  ),
  ResponseDeleted: all(kept("responseId", "found"), named("scope"), facts("scope")),
  ResponseReceived: answered,
  InferenceFailed: failed,
  AnchorInvalidated: all(kept("anchor", "anchor.kind", "anchor.id", "reason"), named("scope"), facts("scope")),
  CapabilityLearned: all(kept("capability", "value"), named("scope", "reason"), facts("scope")),
  ReasoningQuarantined: all(kept("blockIds[]"), named("scope", "reason"), facts("scope")),
  ServerConversationChanged: all(
    kept("anchor", "anchor.kind", "anchor.id", "change", "keeps", "items[]"),
    named("scope"),
    facts("scope"),
  ),
  ServerConversationDeleted: all(kept("anchor", "anchor.kind", "anchor.id", "found"), named("scope"), facts("scope")),
  ToolStarted: kept("blockId", "name", "idempotencyKey"),
  ToolFinished: all(kept("blockId", "outcome", "durationMs", "invalid", "json", "late"), under("result", block)),
  ToolParked: all(kept("blockId", "name"), named("reason")),
  ToolSettled: all(kept("blockId", "settlement.how"), named("settlement.output")),
  ApprovalRequested: all(
    kept("blockId", "name", "inputDigest", "expiresAt"),
    under("call", block),
    named("inputSchema", "reason"),
  ),
  ApprovalDecided: all(kept("blockId", "inputDigest", "how", "key"), named("input", "message")),
  EffectStarted: kept("effectId", "name", "idempotencyKey", "idempotent"),
  EffectFinished: all(kept("effectId", "answer.outcome", "durationMs"), named("answer.value", "answer.message")),
  BlobChunkStored: all(kept("index", "of"), named("text")),
};
