import type { JsonObject, JsonValue } from "../base/json.ts";
import { idOf } from "../domain/block.ts";
import { blockFromJson } from "../domain/block-json.ts";
import type { ConversationEventOf } from "../domain/events/event.ts";
import type {
  InferenceFailedData,
  InferenceRequestedData,
  ResponseReceivedData,
} from "../domain/events/inference-events.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import { isAside } from "../domain/frame.ts";
import { failureOf } from "../engine/inference/failure-data.ts";
import { type Codecs, codecOf } from "../engine/planning/recorded-request.ts";
import { rebuildResponse } from "../engine/planning/response.ts";
import type { Breakpoint, Injected } from "../engine/session/breakpoint.ts";
import { isSuspect } from "../projections/exchange-context.ts";

/** A step of a recorded run: its last request, and the result of that. */
export type RecordedStep = {
  readonly frame: string;
  request: RecordedEvent & { readonly event: { readonly data: InferenceRequestedData } };
  answer: (CameAt & { readonly data: ResponseReceivedData | InferenceFailedData }) | null;
};

/** When a result came, and its place in the log. */
export type CameAt = { readonly at: number; readonly revision: number };

/** An answer from the log, and when it came; null if no code waits for it. */
export type ReplayedAnswer = {
  readonly came: CameAt | null;
  /** @throws {ProviderError} if the recorded step failed. */
  readonly give: () => Injected;
};

/** The result of a layer's effect; null until it is found in the log. */
type RecordedEffect = { answer: ReplayedAnswer | null };

type Options = { readonly codecs: Codecs; readonly settings: ReadonlyMap<string, JsonObject> };

/**
 * Gives the answers of a recorded run to another stack. A step gets the answer of its own frame, or else the oldest
 * unused one. A tool call gets the result of the same call of that answer. An effect gets the result of the same effect of its frame.
 */
export class RecordedAnswers {
  readonly #steps: RecordedStep[] = [];
  /** Asides, by frame: no step gets their answers. */
  readonly #asides = new Map<string, RecordedStep>();
  readonly #ofInference = new Map<string, RecordedStep>();
  readonly #given = new Map<string, RecordedStep>();
  readonly #results = new Map<string, ReplayedAnswer>();
  readonly #effectById = new Map<string, RecordedEffect>();
  /** By frame and name, in the order in which they began. */
  readonly #effects = new Map<string, RecordedEffect[]>();
  readonly #options: Options;

  constructor(events: readonly RecordedEvent[], options: Options) {
    this.#options = options;
    for (const recorded of events) this.#note(recorded);
  }

  /** The recorded step whose answer a frame got. */
  stepOf(frame: string): RecordedStep | null {
    return this.#given.get(frame) ?? null;
  }

  /** Steps whose answers were not used. */
  get unused(): readonly RecordedStep[] {
    const used = new Set(this.#given.values());
    return this.#steps.filter((step) => !used.has(step) && step.answer !== null);
  }

  /** The recorded result of an effect that would begin; null if the recording has none. */
  answer(stop: Exclude<Breakpoint, { readonly kind: "append" }>): ReplayedAnswer | null {
    switch (stop.kind) {
      case "inference":
        return this.#response(stop.frame, stop.request);
      case "tool": {
        const id = idOf(stop.call);
        // The id ends with the index of the block in its answer, whichever frame got it.
        const index = Number(id.slice(id.lastIndexOf("/") + 1));
        const data = this.#given.get(id.split("/")[1] ?? "")?.answer?.data;
        const call = data !== undefined && "output" in data ? data.output[index]?.id : undefined;
        return this.#results.get(call ?? "") ?? null;
      }
      case "effect":
        // An effect after an answer is not executed, and no code waits for its result.
        if (stop.name === "acknowledged") return { came: null, give: () => ({ answer: null }) };
        return this.#effects.get(`${stop.frame} ${stop.name}`)?.shift()?.answer ?? ofObject(stop.name);
    }
  }

  #response(frame: string, asked: InferenceRequestedData): ReplayedAnswer | null {
    const step = isAside(frame)
      ? this.#asides.get(frame)
      : (this.#given.get(frame) ?? this.unused.find((each) => each.frame === frame) ?? this.unused[0]);
    // A dialect cannot read the answers of another.
    if (step?.answer == null || step.request.event.data.encoder !== asked.encoder) return null;
    if (!isAside(frame)) this.#given.set(frame, step);
    const { data, ...came } = step.answer;
    return { came, give: () => ({ answer: this.#responseOf(step.request.event.data, data, asked) }) };
  }

  #responseOf(
    request: InferenceRequestedData,
    data: ResponseReceivedData | InferenceFailedData,
    asked: InferenceRequestedData,
  ): JsonValue {
    if (!("output" in data)) throw failureOf(data);
    const settings = this.#options.settings.get(request.settingsDigest) ?? {};
    const isEchoed = data.echo !== undefined && Object.hasOwn(data.echo, "anchor") && !isSuspect(request, data);
    // If the server continued from the requested anchor then, it would do so now, and say so.
    const echo = isEchoed ? { echo: { ...data.echo, anchor: asked.decision.anchor?.id ?? null } } : {};
    const parts = { data: { ...data, ...echo }, blocks: data.output.map(blockFromJson) };
    return rebuildResponse(parts, settings, codecOf(request, this.#options.codecs));
  }

  #note(recorded: RecordedEvent): void {
    const { event, actor, revision } = recorded;
    const frame = recorded.frame ?? "0";
    const came = { at: Date.parse(recorded.at), revision };
    switch (event.type) {
      case "InferenceRequested":
        this.#ask({ ...recorded, event }, frame);
        return;
      case "ResponseReceived":
      case "InferenceFailed": {
        const step = this.#ofInference.get(event.data.inferenceId);
        const isLast = step?.request.event.data.inferenceId === event.data.inferenceId;
        // An interrupted request, whose outcome is unknown, is no answer to another one.
        const isTold = event.type === "ResponseReceived" || event.data.kind !== "interrupted";
        if (step !== undefined && isLast && isTold) step.answer = { ...came, data: event.data };
        return;
      }
      case "ToolFinished": {
        const { blockId, result, late } = event.data;
        if (late === true || actor.kind === "recovery") return;
        this.#results.set(blockId, { came, give: () => ({ answer: result.payload["output"] ?? null }) });
        return;
      }
      case "EffectStarted":
        this.#begin(`${frame} ${event.data.name}`, event.data);
        return;
      case "EffectFinished": {
        const effect = this.#effectById.get(event.data.effectId);
        const { answer } = event.data;
        const injected = answer.outcome === "ok" ? { answer: answer.value } : { answer: null, failure: answer.message };
        if (effect !== undefined) effect.answer = { came, give: () => injected };
        return;
      }
      default:
    }
  }

  /** An effect repeated after a crash counts from its first begin. */
  #begin(key: string, { effectId }: ConversationEventOf<"EffectStarted">["data"]): void {
    if (this.#effectById.has(effectId)) return;
    const effect: RecordedEffect = { answer: null };
    this.#effectById.set(effectId, effect);
    const same = this.#effects.get(key);
    if (same === undefined) this.#effects.set(key, [effect]);
    else same.push(effect);
  }

  /** A later attempt replaces earlier ones: their failures depended on how they were sent. */
  #ask(request: RecordedStep["request"], frame: string): void {
    const last = isAside(frame) ? this.#asides.get(frame) : this.#steps.at(-1);
    const { attempt, inferenceId } = request.event.data;
    const isAgain = attempt > 0 && last?.frame === frame;
    const step = isAgain ? last : { frame, request, answer: null };
    step.request = request;
    step.answer = null;
    if (isAside(frame)) this.#asides.set(frame, step);
    else if (!isAgain) this.#steps.push(step);
    this.#ofInference.set(inferenceId, step);
  }
}

/** The server's answer about a conversation object that the recording does not have: it is created, and is empty. */
function ofObject(name: string): ReplayedAnswer | null {
  const answer = objectAnswers.get(name);
  return answer === undefined ? null : { came: null, give: () => ({ answer }) };
}

const objectAnswers: ReadonlyMap<string, JsonValue> = new Map<string, JsonValue>([
  ["conversation-create", "conv_unknown"],
  ["conversation-list", []],
  ["conversation-delete", null],
]);
