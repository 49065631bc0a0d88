import type { JsonObject } from "../../../base/json.ts";
import type { Block } from "../../../domain/block.ts";
import { blockFromJson } from "../../../domain/block-json.ts";
import type { ConversationEventOf } from "../../../domain/events/event.ts";
import type { InferenceFailedData, ResponseReceivedData } from "../../../domain/events/inference-events.ts";
import type { RecordedEvent } from "../../../domain/events/recorded.ts";
import { failureAttributes, responseAttributes } from "./answer-attributes.ts";
import { type Ending, endedWell, OpenSpans } from "./open-spans.ts";
import { PartTotals } from "./part-totals.ts";
import { effectKey, requestKey, type SpanChange, type SpanKey, type SpanStart, toolKey } from "./span.ts";
import { outputContent } from "./span-content.ts";
import type { SpanOptions } from "./span-options.ts";
import { isStepKey, type RunPlace, SpanStarts } from "./span-starts.ts";
import { effectEnd, toolEnd, type WorkEnd } from "./work-ends.ts";

/** What spans say and the run's events do not hold. */
export type SpanKnowledge = {
  /** The settings with this name; undefined if they are not known. */
  readonly settings: (name: string) => JsonObject | undefined;
  /** The blocks of the Turn that a frame sends; null if they are not known. */
  readonly outgoing: (frame: string) => readonly Block[] | null;
};

/**
 * The spans of one run, from its events: live tracing passes each event as soon as it is durable, and an export passes those of the log.
 * Each process that executed the run has a span of its own, in which its steps, requests and tool calls are.
 */
export class RunSpans {
  readonly #options: SpanOptions;
  readonly #starts: SpanStarts;
  readonly #open = new OpenSpans();
  /** Requests and tool calls of earlier parts without a recorded end: a later part may fetch the answer, or repeat the call. */
  readonly #left = new Map<SpanKey, RecordedEvent>();
  /** Those that began again in this part, before an event says so. */
  readonly #again = new Set<SpanKey>();
  readonly #begun = new Map<SpanKey, RecordedEvent>();
  readonly #stepsBegun = new Map<SpanKey, readonly SpanKey[]>();
  #totals = new PartTotals();
  #part: SpanKey | null = null;
  #previous: SpanStart["follows"] = null;

  constructor(place: RunPlace, options: SpanOptions) {
    this.#options = options;
    this.#starts = new SpanStarts(place, options);
  }

  /** The span of a process's part, before its first event is recorded. */
  partStart(epoch: number, at: number, provider?: { readonly scope: string }): SpanStart {
    return this.#starts.part(epoch, { at, follows: this.#previous, scope: provider?.scope });
  }

  /** The changes that an event of the run makes. */
  take(recorded: RecordedEvent, known: SpanKnowledge): readonly SpanChange[] {
    const changes: SpanChange[] = [];
    this.#apply(changes, recorded, known);
    return changes;
  }

  /** A request or a tool call of an earlier part is about to be done again, without an event that says so. */
  beginAgain(key: SpanKey, at: number, known: SpanKnowledge): readonly SpanChange[] {
    const changes: SpanChange[] = [];
    const left = this.#left.get(key);
    if (left === undefined || this.#part === null || this.#open.has(key)) return changes;
    this.#again.add(key);
    this.#begin(changes, left, { at, known });
    return changes;
  }

  /** The part has ended without an event that says so: its process is gone, or could not record it. */
  leave(): readonly SpanChange[] {
    const changes: SpanChange[] = [];
    this.#leave(changes);
    return changes;
  }

  #apply(changes: SpanChange[], recorded: RecordedEvent, known: SpanKnowledge): void {
    const { event, actor } = recorded;
    const at = Date.parse(recorded.at);
    switch (event.type) {
      case "RunStarted":
      case "RunResumed": {
        this.#leave(changes);
        const { epoch, trace = null } = event.data;
        const scope = event.type === "RunStarted" ? event.data.provider.scope : undefined;
        const start = this.#starts.part(epoch, { at, follows: this.#previous, scope });
        this.#open.begin(changes, start);
        [this.#part, this.#previous] = [start.key, { key: start.key, trace }];
        return;
      }
      case "RunParked":
        this.#endPart(changes, { ...endedWell, at, attributes: { "turnlog.run.status": "parked" } });
        return;
      case "RunCompleted":
      case "RunFailed":
      case "RunCancelled":
        // The owner ends its run itself; for one that is gone, another does.
        if (actor.kind !== "engine") this.#leave(changes);
        this.#endPart(changes, { ...this.#runEnd(event), at });
        return;
      case "TurnEdited":
        if (event.data.compaction !== undefined) this.#starts.isCompacted = true;
        return;
      case "InferenceRequested":
      case "ToolStarted":
      case "EffectStarted":
        this.#left.delete(keyOf(event));
        this.#begin(changes, recorded, { at, known });
        return;
      case "ResponseReceived":
        this.#starts.noteCalls(recorded.frame ?? "0", event.data.output);
        this.#totals.answered(event.data.usage);
        this.#answered(changes, recorded, {
          key: requestKey(event.data.inferenceId),
          known,
          ...this.#response(event.data),
        });
        return;
      case "InferenceFailed":
        this.#totals.answered(event.data.usage);
        this.#answered(changes, recorded, {
          key: requestKey(event.data.inferenceId),
          known,
          ...this.#failure(event.data),
        });
        return;
      case "ToolFinished":
        if (event.data.late !== true) this.#finished(changes, recorded, known, toolEnd(event.data, this.#options));
        return;
      case "EffectFinished":
        this.#finished(changes, recorded, known, effectEnd(event.data, this.#options));
        return;
      default:
    }
  }

  #begin(
    changes: SpanChange[],
    recorded: RecordedEvent,
    { at, known }: { readonly at: number; readonly known: SpanKnowledge },
  ): void {
    const { event } = recorded;
    if (this.#part === null) return;
    const frame = recorded.frame ?? "0";
    const part = this.#part;
    // A layer around several steps may have effects, which are in none of them.
    const step = event.type === "EffectStarted" ? null : this.#stepOf(changes, recorded, { part, at });
    const parent = step ?? part;
    if (event.type === "InferenceRequested") {
      this.#totals.requests += 1;
      const settings = known.settings(event.data.settingsDigest) ?? {};
      const blocks = this.#options.hasContent ? known.outgoing(frame) : null;
      this.#open.begin(changes, { ...this.#starts.request(event.data, { frame, settings, blocks }), part, parent, at });
    } else if (event.type === "ToolStarted") {
      this.#totals.tools += 1;
      this.#open.begin(changes, { ...this.#starts.tool(event.data, frame), part, parent, at });
    } else if (event.type === "EffectStarted") {
      this.#open.begin(changes, { ...this.#starts.effect(event.data, recorded), part, parent, at });
    } else return;
    this.#begun.set(keyOf(event), recorded);
  }

  /** The step that a request or a tool call is in; a request begins it. Null if it is in none that is open. */
  #stepOf(
    changes: SpanChange[],
    recorded: RecordedEvent,
    { part, at }: { readonly part: SpanKey; readonly at: number },
  ): SpanKey | null {
    const step = this.#starts.stepOf(recorded, part);
    if (step === null) return null;
    const begun = this.#stepsBegun.get(step.key) ?? [];
    const last = begun.at(-1);
    if (last !== undefined && this.#open.has(last)) return last;
    if (recorded.event.type !== "InferenceRequested") return null;
    this.#open.endIdle(changes, isStepKey);
    // A step that had ended, because another began, may ask once more.
    const key = begun.length === 0 ? step.key : `${step.key}#${begun.length}`;
    this.#stepsBegun.set(step.key, [...begun, key]);
    this.#open.begin(changes, { ...step, key, at });
    return key;
  }

  #answered(
    changes: SpanChange[],
    recorded: RecordedEvent,
    { key, known, ...ending }: Ending & { readonly key: SpanKey; readonly known: SpanKnowledge },
  ): void {
    const at = Date.parse(recorded.at);
    const left = this.#left.get(key);
    // Asked by an earlier process, and answered to this one.
    if (left !== undefined && !this.#open.has(key)) this.#begin(changes, left, { at, known });
    this.#open.end(changes, key, { ...ending, at });
    this.#forget(key);
  }

  /** A tool call or an effect of a layer ended, in this part or in one that repeated it. */
  #finished(
    changes: SpanChange[],
    recorded: RecordedEvent,
    known: SpanKnowledge,
    { key, durationMs, ...ending }: WorkEnd,
  ): void {
    const at = Date.parse(recorded.at);
    const left = this.#left.get(key);
    const isOwn = recorded.actor.kind === "tool" || recorded.actor.kind === "middleware";
    if (left !== undefined && isOwn && !this.#open.has(key))
      this.#begin(changes, left, { at: at - Math.round(durationMs), known });
    // A repetition that somebody else ended: the log does not have that it began.
    if (this.#again.has(key) && !isOwn) this.#drop(key);
    this.#open.end(changes, key, { ...ending, at });
    this.#forget(key);
  }

  #response(data: ResponseReceivedData): Ending {
    const { failure, output, status } = data;
    const { hasContent } = this.#options;
    const blocks = hasContent ? output.map((json) => blockFromJson(json)) : [];
    return {
      attributes: {
        ...responseAttributes(data, this.#options),
        ...(hasContent ? outputContent(blocks, status, this.#options) : {}),
      },
      errorType: failure === undefined ? null : (failure.code ?? "server-error"),
      errorMessage: hasContent ? (failure?.message ?? null) : null,
    };
  }

  #failure(data: InferenceFailedData): Ending {
    const errorMessage = this.#options.hasContent ? data.message : null;
    return { attributes: failureAttributes(data, this.#options), errorType: data.kind, errorMessage };
  }

  #runEnd({ type, data }: ConversationEventOf<"RunCompleted" | "RunFailed" | "RunCancelled">): Ending {
    const status = type === "RunCompleted" ? data.status : type === "RunFailed" ? "failed" : "cancelled";
    const attributes = { "turnlog.run.status": status };
    if (type !== "RunFailed") return { ...endedWell, attributes };
    return { attributes, errorType: data.kind, errorMessage: this.#options.hasContent ? data.message : null };
  }

  #endPart(changes: SpanChange[], { at, attributes, ...ending }: Ending & { readonly at: number }): void {
    const part = this.#part;
    if (part === null) return;
    this.#endWithin(changes, at);
    const totals = this.#totals.attributes(this.#options);
    this.#open.end(changes, part, { ...ending, at, attributes: { ...attributes, ...totals } });
    this.#part = null;
    this.#totals = new PartTotals();
  }

  #leave(changes: SpanChange[]): void {
    const part = this.#part;
    if (part === null) return;
    this.#endWithin(changes, null);
    this.#open.endUnfinished(changes, part, null);
    this.#part = null;
    this.#totals = new PartTotals();
  }

  /** Ends everything in the part: requests and calls without an end first, and then the steps that they were in. */
  #endWithin(changes: SpanChange[], at: number | null): void {
    for (const [key, recorded] of this.#begun) {
      this.#left.set(key, recorded);
      if (this.#again.has(key)) this.#drop(key);
      else this.#open.endUnfinished(changes, key, at);
    }
    this.#begun.clear();
    this.#again.clear();
    if (at !== null) this.#open.endIdle(changes, isStepKey);
    else for (const key of this.#open.keys()) if (isStepKey(key)) this.#open.endUnfinished(changes, key, null);
  }

  /** The span of something that began again, of which no event says so. */
  #drop(key: SpanKey): void {
    if (!this.#open.has(key)) return;
    this.#open.drop(key);
    const [kind = ""] = key.split("/");
    const counted = { tool: "tools", request: "requests" } as const;
    if (kind === "tool" || kind === "request") this.#totals[counted[kind]] -= 1;
  }

  #forget(key: SpanKey): void {
    for (const map of [this.#left, this.#begun]) map.delete(key);
    this.#again.delete(key);
  }
}

function keyOf(event: ConversationEventOf<"InferenceRequested" | "ToolStarted" | "EffectStarted">): SpanKey {
  if (event.type === "InferenceRequested") return requestKey(event.data.inferenceId);
  return event.type === "ToolStarted" ? toolKey(event.data.blockId) : effectKey(event.data.effectId);
}
