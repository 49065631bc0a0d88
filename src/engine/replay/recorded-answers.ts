import type { JsonObject, JsonValue } from "../../base/json.ts";
import { idOf } from "../../domain/block.ts";
import { blockFromJson } from "../../domain/block-json.ts";
import type {
  InferenceFailedData,
  InferenceRequestedData,
  ResponseReceivedData,
} from "../../domain/events/inference-events.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { isSuspect } from "../../projections/server-contexts.ts";
import { EffectFailedError } from "../effects/run-effect.ts";
import { failureOf } from "../inference/infer.ts";
import { rebuildResponse } from "../inference/response.ts";
import { type Codecs, codecOf } from "../requests.ts";
import type { Injected, Stop } from "../run/stop.ts";

/** A step of a recorded run: what was asked at last, and what came of it. */
export type RecordedStep = {
  readonly frame: string;
  /** The frame that it would have had in the other stack. */
  readonly path: string;
  request: RecordedEvent & { readonly event: { readonly data: InferenceRequestedData } };
  answer: { readonly at: number; readonly data: ResponseReceivedData | InferenceFailedData } | null;
};

/** An answer from the log, and when it came. */
export type Answer = Injected & { readonly at: number | null };

type EffectAnswer = { readonly at: number; readonly give: () => JsonValue };

type Options = {
  readonly codecs: Codecs;
  readonly settings: ReadonlyMap<string, JsonObject>;
  /** The frame that a recorded one has in the other stack; null where it has none. */
  readonly pathOf: (frame: string) => string | null;
};

/**
 * What a recorded run knows, given out to another stack: a step gets the answer of its own frame, else the oldest that
 * nobody got; a tool call the result of the same call of that answer; an effect what the same one of its frame gave.
 */
export class RecordedAnswers {
  readonly #steps: RecordedStep[] = [];
  readonly #byInference = new Map<string, RecordedStep>();
  readonly #given = new Map<string, RecordedStep>();
  readonly #results = new Map<string, { readonly at: number; readonly output: JsonValue }>();
  readonly #effects = new Map<string, EffectAnswer[]>();
  readonly #effectKeys = new Map<string, string>();
  readonly #options: Options;

  constructor(events: readonly RecordedEvent[], options: Options) {
    this.#options = options;
    for (const recorded of events) this.#note(recorded);
  }

  /** The recorded step whose answer a frame was given. */
  stepOf(frame: string): RecordedStep | null {
    return this.#given.get(frame) ?? null;
  }

  /** Steps whose answers nobody asked for. */
  get unused(): readonly RecordedStep[] {
    const used = new Set(this.#given.values());
    return this.#steps.filter((step) => !used.has(step) && step.answer !== null);
  }

  /**
   * What takes the place of an effect that would begin; null where the recording does not tell.
   *
   * @throws {ProviderError} where the recorded step failed.
   * @throws {EffectFailedError} where the recorded effect failed.
   */
  answer(stop: Exclude<Stop, { readonly kind: "append" }>): Answer | null {
    switch (stop.kind) {
      case "inference":
        return this.#response(stop.frame, stop.request);
      case "tool": {
        const id = idOf(stop.call);
        // The n-th block of an answer is named so, whichever frame got it.
        const index = Number(id.slice(id.lastIndexOf("/") + 1));
        const data = this.#given.get(id.split("/")[1] ?? "")?.answer?.data;
        const call = data !== undefined && "output" in data ? data.output[index]?.id : undefined;
        const result = this.#results.get(call ?? "");
        return result === undefined ? null : { answer: result.output, at: result.at };
      }
      case "effect": {
        // What a layer does after an answer is not done; nobody waits for what it gives.
        if (stop.name === "acknowledged") return { answer: null, at: null };
        const effect = this.#effects.get(`${stop.frame} ${stop.name}`)?.shift();
        return effect === undefined ? null : { answer: effect.give(), at: effect.at };
      }
    }
  }

  #response(frame: string, asked: InferenceRequestedData): Answer | null {
    const step = this.#given.get(frame) ?? this.unused.find(({ path }) => path === frame) ?? this.unused[0];
    if (step?.answer == null) return null;
    this.#given.set(frame, step);
    const { at, data } = step.answer;
    if (!("output" in data)) throw failureOf(data);
    const request = step.request.event.data;
    const settings = this.#options.settings.get(request.settingsDigest) ?? {};
    const parts = { data, blocks: data.output.map(blockFromJson) };
    const response = rebuildResponse(parts, settings, codecOf(request, this.#options.codecs));
    const isEchoed = Object.hasOwn(data.fields, "previous_response_id") && !isSuspect(request, data);
    // A server that did what it was asked then would do so now, and say so.
    const echo = isEchoed ? { previous_response_id: asked.decision.anchor?.responseId ?? null } : {};
    return { answer: { ...response, ...echo }, at };
  }

  #note(recorded: RecordedEvent): void {
    const { event, actor } = recorded;
    const frame = recorded.frame ?? "0";
    const at = Date.parse(recorded.at);
    switch (event.type) {
      case "InferenceRequested":
        this.#ask({ ...recorded, event }, frame);
        return;
      case "ResponseReceived":
      case "InferenceFailed": {
        const step = this.#byInference.get(event.data.inferenceId);
        const isLast = step?.request.event.data.inferenceId === event.data.inferenceId;
        // That nobody knows what became of a request is no answer to another one.
        const isTold = event.type === "ResponseReceived" || event.data.kind !== "interrupted";
        if (step !== undefined && isLast && isTold) step.answer = { at, data: event.data };
        return;
      }
      case "ToolFinished": {
        const { blockId, result, late } = event.data;
        if (late === true || actor.kind === "recovery") return;
        this.#results.set(blockId, { at, output: result.payload["output"] ?? null });
        return;
      }
      case "EffectStarted": {
        const path = this.#options.pathOf(frame);
        if (path !== null) this.#effectKeys.set(event.data.effectId, `${path} ${event.data.name}`);
        return;
      }
      case "EffectFinished": {
        const { effectId, answer } = event.data;
        const key = this.#effectKeys.get(effectId);
        if (key === undefined) return;
        const give = (): JsonValue => {
          if (answer.outcome === "ok") return answer.value;
          throw new EffectFailedError(key.slice(key.indexOf(" ") + 1), answer.message);
        };
        this.#effects.set(key, [...(this.#effects.get(key) ?? []), { at, give }]);
        return;
      }
      default:
    }
  }

  /** A later attempt takes the place of those before: what refused them belonged to how they were sent. */
  #ask(request: RecordedStep["request"], frame: string): void {
    const last = this.#steps.at(-1);
    const { attempt, inferenceId } = request.event.data;
    const isAgain = attempt > 0 && last?.frame === frame;
    const step = isAgain ? last : { frame, path: this.#options.pathOf(frame) ?? frame, request, answer: null };
    step.request = request;
    step.answer = null;
    if (!isAgain) this.#steps.push(step);
    this.#byInference.set(inferenceId, step);
  }
}
