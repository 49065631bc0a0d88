/** A fault that is planted in the sources: a short text that stands in a file once, and what takes its place. */
export type PlantedFault = {
  readonly of: string;
  readonly file: string;
  readonly find: string;
  readonly put: string;
  /** The nearest suite that must not let it pass. */
  readonly suite: string;
};

/** What is planned, shaped and compared wrongly. */
const planning: readonly PlantedFault[] = [
  {
    of: "results stand between the calls of an answer where the server refuses that",
    file: "engine/planning/pair-calls.ts",
    find: " || codec.resultsStandTogether === true",
    put: "",
    suite: "engine/planning/pair-calls",
  },
  {
    of: "reasoning of a broken answer is sent by a codec of defaults",
    file: "providers/define-codec.ts",
    find: 'return isBroken ? "broken-group" : null;',
    put: "return null;",
    suite: "coherence/coherence",
  },
  {
    of: "a server's compaction stands for a Turn that was edited since",
    file: "engine/planning/plan.ts",
    find: "return isInPlace && turn.contextAt(made.length) === made.turn;",
    put: "return isInPlace;",
    suite: "engine/inference/compacting-law",
  },
  {
    of: "a request continues from another endpoint's response",
    file: "engine/planning/plan.ts",
    find: "context.scope === scope && (only",
    put: "(only",
    suite: "engine/planning/plan",
  },
  {
    of: "an anchor that is too old is taken",
    file: "engine/planning/plan.ts",
    find: 'if (isOld && kind.isObject !== true) return "expired";',
    put: "",
    suite: "engine/planning/plan",
  },
  {
    of: "an anchor that its server has lost is taken",
    file: "engine/planning/plan.ts",
    find: "if (invalidation !== null)",
    put: "if (invalidation === undefined)",
    suite: "engine/planning/plan",
  },
  {
    of: "settings that need a full request are chained",
    file: "engine/planning/plan.ts",
    find: 'return changedSince(request, anchor).some(isFull) ? "settings-changed" : null;',
    put: "return null;",
    suite: "engine/planning/plan",
  },
  {
    of: "of two responses with one context the older one is continued from",
    file: "engine/planning/plan.ts",
    find: "rank(right) - rank(left)",
    put: "rank(left) - rank(right)",
    suite: "engine/planning/plan",
  },
  {
    of: "thinking is sent behind an edit to a server that refuses that",
    file: "engine/planning/bound-place.ts",
    find: "made.others === others &&",
    put: "",
    suite: "providers/anthropic/thinking",
  },
  {
    of: "all later reasoning is left out with the oldest",
    file: "engine/planning/bound-place.ts",
    find: "reasoning.count <= made.reasoning",
    put: "reasoning.count === made.reasoning",
    suite: "providers/anthropic/thinking",
  },
  {
    of: "a codec is not told what was sent before",
    file: "engine/planning/sent-before.ts",
    find: "turn.contextAt(made.length) === made.turn",
    put: "false",
    suite: "providers/anthropic/cache",
  },
  {
    of: "changed settings are not noticed",
    file: "engine/planning/request-settings.ts",
    find: "textOf(before, name) !== textOf(after, name)",
    put: "false",
    suite: "engine/planning/plan",
  },
  {
    of: "all settings have one digest",
    file: "engine/planning/request-settings.ts",
    find: "sha256Hex(JSON.stringify(settings))",
    put: 'sha256Hex("")',
    suite: "engine/inference/instructions",
  },
  {
    of: "a call that is open at the end gets no answer",
    file: "engine/planning/pair-calls.ts",
    find: "dueBefore(open, Number.POSITIVE_INFINITY).map",
    put: "dueBefore([], Number.POSITIVE_INFINITY).map",
    suite: "engine/planning/pair-calls",
  },
  {
    of: "a call id that comes again is sent as it is",
    file: "engine/planning/pair-calls.ts",
    find: "if (!isUsed(key)) return key;",
    put: "return key;",
    suite: "engine/planning/pair-calls",
  },
  {
    of: "a result without an open call is sent",
    file: "engine/planning/pair-calls.ts",
    find: "if (call === undefined) unpaired.push(candidate);",
    put: "if (call === undefined) continue;",
    suite: "engine/planning/pair-calls",
  },
  {
    of: "a broken group keeps the ids of its items",
    file: "engine/planning/shape.ts",
    find: "? [omitId(index, rule)] : []",
    put: "? [] : []",
    suite: "engine/planning/shape",
  },
  {
    of: "what a response says beyond its output is dropped",
    file: "engine/planning/response.ts",
    find: "else setMember(rest, name, value);",
    put: "",
    suite: "engine/planning/response",
  },
  {
    of: "a member that differs from the request is taken for its echo",
    file: "engine/planning/response.ts",
    find: "canonicalJson(sent) === canonicalJson(value)",
    put: "true",
    suite: "engine/planning/response",
  },
];

/** What the log says is folded wrongly. */
const folds: readonly PlantedFault[] = [
  {
    of: "what an endpoint has lost as a whole stays usable",
    file: "engine/planning/contexts.ts",
    find: "context.index < all.contexts ? all : null",
    put: "context.index < 0 ? all : null",
    suite: "engine/planning/contexts",
  },
  {
    of: "a response that was not found stays usable",
    file: "projections/server-contexts.ts",
    find: "else view.invalidResponses.set(anchorName(event.data), { reason, revision });",
    put: "",
    suite: "engine/inference/fallback",
  },
  {
    of: "an answer that continued from something else is trusted",
    file: "projections/server-contexts.ts",
    find: 'return (echo["anchor"] ?? null) !== (decision.anchor?.id ?? null);',
    put: "return false;",
    suite: "engine/inference/fallback",
  },
  {
    of: "a revert leaves the Turn as it was",
    file: "projections/client-turn.ts",
    find: "view.committed = result;",
    put: "",
    suite: "log/writer/revert",
  },
  {
    of: "what is said during a run is lost when the run ends",
    file: "projections/client-turn.ts",
    find: "view.committed = result.append(...run.pending);",
    put: "view.committed = result;",
    suite: "engine/run/unfinished",
  },
  {
    of: "half of a call of an answer that was cut off enters the Turn",
    file: "projections/open-run.ts",
    find: 'block.wire?.partial !== true || block.kind === "assistant"',
    put: "true",
    suite: "engine/run/what-log-tells",
  },
  {
    of: "a digest that the log has is not compared",
    file: "projections/open-run.ts",
    find: "if (actual !== expected) {",
    put: "if (actual === null) {",
    suite: "replay/fold-replay",
  },
  {
    of: "a message that comes later counts as answered",
    file: "projections/answers.ts",
    find: "view.answeredBy = null;",
    put: "",
    suite: "engine/run/answered-once",
  },
  {
    of: "a projector forgets the views that an event changed",
    file: "read-models/fold.ts",
    find: "this.#changed.add(state);",
    put: "",
    suite: "read-models/laws",
  },
];

/** What is done twice, too soon, or not at all. */
const runs: readonly PlantedFault[] = [
  {
    of: "an effect begins before it is durable that it does",
    file: "engine/effects/perform.ts",
    find: "await recorder.flush();",
    put: "",
    suite: "engine/effects/effect-values",
  },
  {
    of: "a tool that the log has the answer of runs again",
    file: "engine/session/run-answers.ts",
    find: 'this.#go(blockId, { state: "finished", at: time, actor, answer: { type: "tool", result } });',
    put: "",
    suite: "engine/run/resume",
  },
  {
    of: "a call that a layer has answered already is run",
    file: "engine/stack/tool-loop.ts",
    find: "openCalls(broughtBy(asked, answer))",
    put: 'broughtBy(asked, answer).filter(({ kind }) => kind === "tool_call")',
    suite: "engine/stack/tool-loop",
  },
  {
    of: "an effect in doubt that may be done twice is parked all the same",
    file: "engine/effects/in-doubt.ts",
    find: 'if (past.state === "started" && (call === null ? past.isIdempotent : isIdempotent())) continue;',
    put: "",
    suite: "engine/effects/in-doubt",
  },
  {
    of: "an effect in doubt that must not be done twice is done",
    file: "engine/effects/in-doubt.ts",
    find: "(call === null ? past.isIdempotent : isIdempotent())",
    put: "call !== undefined",
    suite: "engine/effects/in-doubt",
  },
  {
    of: "a request of which nobody knows what became of it is sent again",
    file: "engine/inference/retry.ts",
    find: 'if (outcome !== "rejected" || shouldRetry === false) return false;',
    put: "if (shouldRetry === false) return false;",
    suite: "engine/inference/retry",
  },
  {
    of: "a request is sent again sooner than the server asks",
    file: "engine/inference/retry.ts",
    find: "askedMs + backoffMs",
    put: "backoffMs",
    suite: "engine/inference/retry",
  },
  {
    of: "two runs of a conversation go on at once",
    file: "engine/run/run-queue.ts",
    find: "if (before !== undefined) await waitFor(before.end, { runId, signal });",
    put: "",
    suite: "engine/run/run-queue",
  },
  {
    of: "a permit of an effect is given twice",
    file: "domain/conversation.ts",
    find: '!effects.has(id) || effects.get(id) === "may-rerun"',
    put: "effects !== undefined || id",
    suite: "domain/conversation",
  },
  {
    of: "a run is taken up by a process that knows an older state of it",
    file: "domain/conversation.ts",
    find: "event.data.epoch === run.epoch + 1",
    put: "event.data.epoch > 0",
    suite: "domain/conversation",
  },
  {
    of: "a response that is still made when only the waiting for it has ended is not cancelled",
    file: "projections/open-run.ts",
    find: "if (!waitingEnded.has(event.data.kind)) underWay",
    put: "underWay",
    suite: "faults/background",
  },
];

/** What is written, kept, inherited and carried wrongly. */
const logs: readonly PlantedFault[] = [
  {
    of: "an append goes through although someone else wrote first",
    file: "stores/memory/store.ts",
    find: "if (!isSameHead(expected, actual)) {",
    put: "if (envelopes.length === 0) {",
    suite: "stores/memory",
  },
  {
    of: "an event that was written twice with other words counts as there",
    file: "log/codec/idempotent-append.ts",
    find: "if (there.digest !== envelope.digest) {",
    put: "if (envelope.digest === null) {",
    suite: "stores/memory",
  },
  {
    of: "an owner that lost its run after a conflict goes on writing",
    file: "log/writer/conversation-writer.ts",
    find: "guard?.(this.view);",
    put: "if (preparation === 1) guard?.(this.view);",
    suite: "engine/run/fencing",
  },
  {
    of: "data that was changed under its digest is read",
    file: "log/codec/envelope.ts",
    find: "if (sha256Hex(envelope.data) !== envelope.dataDigest)",
    put: "if (envelope.dataDigest === null)",
    suite: "log/codec/envelope",
  },
  {
    of: "an event that does not follow from the one before it is read",
    file: "log/codec/envelope.ts",
    find: "if (digest !== envelope.digest)",
    put: "if (digest === null)",
    suite: "log/codec/envelope",
  },
  {
    of: "names that look like a reference's are read as they were written",
    file: "log/codec/data.ts",
    find: "if (!hasReservedKey(text)) return parsed;",
    put: "return parsed;",
    suite: "log/codec/data",
  },
  {
    of: "a fork inherits what its parent did after it",
    file: "log/history/lineage.ts",
    find: "{ from: 0, to: revision, skipped }",
    put: "{ from: 0, to: revision + 1, skipped }",
    suite: "log/writer/fork",
  },
  {
    of: "a fork goes on from a parent that was changed",
    file: "log/history/lineage.ts",
    find: "if (there?.digest === fork.digest) return;",
    put: "if (there !== null) return;",
    suite: "log/history/lineage",
  },
  {
    of: "a fork does not learn what its parent's server has lost",
    file: "log/history/inherited-invalidations.ts",
    find: "if (isKnown) invalidations.push(event);",
    put: "",
    suite: "log/writer/fork",
  },
  {
    of: "the first event after a snapshot is left out",
    file: "log/snapshots/fold.ts",
    find: "fold.head.revision + 1;",
    put: "fold.head.revision + 2;",
    suite: "log/snapshots/snapshots",
  },
  {
    of: "settings that were declared before a snapshot are declared again",
    file: "log/snapshots/conversation-fold.ts",
    find: "for (const digest of server.declared.keys()) state.settings.add(digest);",
    put: "",
    suite: "log/snapshots/opening",
  },
  {
    of: "settings from before a snapshot are taken for none",
    file: "log/snapshots/server-context-rows.ts",
    find: "view.declared.set(fact[1], fact[2]);",
    put: "",
    suite: "log/snapshots/opening",
  },
  {
    of: "verify passes a snapshot that says something else than the log",
    file: "log/snapshots/snapshot-check.ts",
    find: "if (what !== null) this.wrong = { revision, what };",
    put: "",
    suite: "audit/verify-snapshots",
  },
  {
    of: "a redacted bundle keeps a text where a word is expected",
    file: "carry/redact.ts",
    find: '&& (typeof value !== "string" || isWord(value))',
    put: "",
    suite: "carry/redact",
  },
];

/** What one run asks otherwise, and what layers ask beside the conversation. */
const asked: readonly PlantedFault[] = [
  {
    of: "the conversation goes on from what a layer asked beside it",
    file: "projections/server-contexts.ts",
    find: "if (isAside(frame)) return;\n      view.open.set",
    put: "view.open.set",
    suite: "engine/run/infer",
  },
  {
    of: "what a layer asked is rebuilt as a step is",
    file: "engine/planning/recorded-request.ts",
    find: "isAside(recorded.frame) ? besideConversation(contexts) : {}",
    put: "{}",
    suite: "engine/run/infer",
  },
  {
    of: "a layer's question takes the place of a step in the result",
    file: "projections/run-record.ts",
    find: "(isAside(frame) ? asides : steps)",
    put: "steps",
    suite: "engine/run/infer",
  },
  {
    of: "what a layer asks costs nothing",
    file: "engine/stack/result.ts",
    find: "[...steps, ...asides].map",
    put: "steps.map",
    suite: "engine/run/infer",
  },
  {
    of: "a step is answered by what a layer was told",
    file: "replay/recorded-answers.ts",
    find: "this.#asides.set(frame, step);",
    put: "this.#steps.push(step);",
    suite: "engine/run/infer",
  },
  {
    of: "who watches the answer sees what a layer asks",
    file: "engine/run/open-session.ts",
    find: '|| ("frame" in part && isAside(part.frame))',
    put: "",
    suite: "engine/run/infer",
  },
  {
    of: "a tool has to be called for ever",
    file: "engine/inference/step-request.ts",
    find: "turns.hasStartedTools ? engine.laterSettings : engine.settings",
    put: "engine.settings",
    suite: "engine/run/run-settings",
  },
  {
    of: "a run that is taken up forgets what it was begun with",
    file: "engine/run/take-up.ts",
    find: "run.started.options ?? {}",
    put: "{}",
    suite: "engine/run/run-settings",
  },
  {
    of: "a run goes on without the context that it was begun with",
    file: "engine/session/errors.ts",
    find: "if (started.options?.hasContext !== true || context !== undefined) return;",
    put: "return;",
    suite: "engine/run/context",
  },
  {
    of: "an answer is given as its schema although it is not of it",
    file: "engine/stack/output.ts",
    find: ": { output: undefined, outputIssues: validated.issues };",
    put: ": { output: given, outputIssues: [] };",
    suite: "engine/run/output",
  },
];

export const engineFaults: readonly PlantedFault[] = [...planning, ...folds, ...runs, ...logs, ...asked];
