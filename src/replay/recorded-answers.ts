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
import { rebuildResponse } from "../engine/planning/response.ts";
import { type Codecs, codecOf } from "../engine/recorded/recorded-request.ts";
import type { Breakpoint, Injected } from "../engine/session/breakpoint.ts";
import { isSuspect } from "../projections/server-contexts/exchange-context.ts";

type Request = RecordedEvent & { readonly event: { readonly data: InferenceRequestedData } };

/** A request of a step, and its result; null if the log has none that another request could get. */
type RecordedAttempt = {
  readonly request: Request;
  answer: (CameAt & { readonly data: ResponseReceivedData | InferenceFailedData }) | null;
};

/** A step of a recorded run: its attempts, and the last of them with its result. */
export type RecordedStep = Pick<RecordedAttempt, "request" | "answer"> & { readonly frame: string };

class Step implements RecordedStep {
  readonly frame: string;
  readonly attempts: RecordedAttempt[] = [];
  /** How many attempts were answered again, or passed over. */
  given = 0;

  constructor(frame: string) {
    this.frame = frame;
  }

  get last(): RecordedAttempt {
    const last = this.attempts.at(-1);
    if (last === undefined) throw new Error("a step has at least one request");
    return last;
  }

  get request(): Request {
    return this.last.request;
  }

  get answer(): RecordedAttempt["answer"] {
    return this.last.answer;
  }

  get isAnswered(): boolean {
    return this.attempts.some(({ answer }) => answer !== null);
  }

  /**
   * The attempt whose result the next request of the step gets. Passes over requests whose outcome was lost, and refusals that this request
   * would not meet.
   */
  next(asked: InferenceRequestedData): RecordedAttempt | null {
    for (let attempt = this.attempts[this.given]; attempt !== undefined; attempt = this.attempts[this.given]) {
      this.given += 1;
      if (this.given === this.attempts.length) return attempt.answer === null ? null : attempt;
      if (attempt.answer !== null && meetsAgain(attempt, asked)) return attempt;
    }
    return null;
  }
}

/** Refusals of what a request continues from, which do not depend on the rest of it. */
const aboutAnchors: ReadonlySet<string> = new Set([
  ...["lost-state", "already-continued", "anchor-mismatch", "chaining-unsupported", "conversation-not-found"],
]);

/** Whether a request gets the result of a recorded one that another attempt followed. */
function meetsAgain({ request, answer }: RecordedAttempt, asked: InferenceRequestedData): boolean {
  const { data } = request.event;
  if (answer === null || "output" in answer.data) return true;
  const { kind, retryInMs, next } = answer.data;
  // Recorded by a process that took over the run: no request that is still under way fails like this.
  if (kind === "lost-response") return false;
  // The server or the connection failed, whatever it was asked.
  if (retryInMs !== undefined || (next !== undefined && next !== null)) return true;
  if (data.requestDigest === asked.requestDigest) return true;
  const [then, now] = [data.decision.anchor, asked.decision.anchor];
  return aboutAnchors.has(kind) && then !== null && then.id === now?.id;
}

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
 * Gives the answers of a recorded run to another stack. A step gets the answers of its own frame, or else the oldest
 * unused ones, attempt by attempt: a recorded refusal refuses again. A tool call gets the result of the same call of that answer. An effect
 * gets the result of the same effect of its frame.
 */
export class RecordedAnswers {
  readonly #steps: Step[] = [];
  /** Asides, by frame: no step gets their answers. */
  readonly #asides = new Map<string, Step>();
  readonly #ofInference = new Map<string, RecordedAttempt>();
  readonly #given = new Map<string, Step>();
  readonly #answered = new Map<string, Request>();
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

  /** The recorded request whose result a request of the other run got. */
  requestOf(inferenceId: string): Request | null {
    return this.#answered.get(inferenceId) ?? null;
  }

  /** Steps whose answers were not used. */
  get unused(): readonly RecordedStep[] {
    return this.#unused();
  }

  #unused(): readonly Step[] {
    const used = new Set(this.#given.values());
    return this.#steps.filter((step) => !used.has(step) && step.isAnswered);
  }

  /** Whether the recording has an answer for a step that this dialect cannot read, because another one was asked. */
  isOfAnotherDialect(frame: string, { encoder }: InferenceRequestedData): boolean {
    const step = this.#stepFor(frame);
    return step !== undefined && step.request.event.data.encoder !== encoder;
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

  #stepFor(frame: string): Step | undefined {
    if (isAside(frame)) return this.#asides.get(frame);
    return this.#given.get(frame) ?? this.#unused().find((each) => each.frame === frame) ?? this.#unused()[0];
  }

  #response(frame: string, asked: InferenceRequestedData): ReplayedAnswer | null {
    const step = this.#stepFor(frame);
    // A dialect cannot read the answers of another.
    if (step?.isAnswered !== true || step.request.event.data.encoder !== asked.encoder) return null;
    const attempt = step.next(asked);
    if (attempt?.answer == null) return null;
    if (!isAside(frame)) this.#given.set(frame, step);
    const { request } = attempt;
    this.#answered.set(asked.inferenceId, request);
    const { data, ...came } = attempt.answer;
    return { came, give: () => ({ answer: this.#responseOf(request.event.data, data, asked) }) };
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
        const attempt = this.#ofInference.get(event.data.inferenceId);
        // An interrupted request, whose outcome is unknown, is no answer to another one.
        const isTold = event.type === "ResponseReceived" || event.data.kind !== "interrupted";
        if (attempt !== undefined && isTold) attempt.answer = { ...came, data: event.data };
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

  #ask(request: Request, frame: string): void {
    const last = isAside(frame) ? this.#asides.get(frame) : this.#steps.at(-1);
    const { attempt: number, inferenceId } = request.event.data;
    const isAgain = number > 0 && last?.frame === frame;
    const step = isAgain ? last : new Step(frame);
    const attempt = { request, answer: null };
    step.attempts.push(attempt);
    if (isAside(frame)) this.#asides.set(frame, step);
    else if (!isAgain) this.#steps.push(step);
    this.#ofInference.set(inferenceId, attempt);
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
