import { messageOf } from "../../base/error-message.ts";
import { isJsonObject, isNestedDeeper, type JsonValue, maxNesting } from "../../base/json.ts";
import { blockFromJson } from "../../domain/block-json.ts";
import type { Decision, InferenceFailedData } from "../../domain/events/inference-events.ts";
import { firstSaid } from "../planning/response.ts";
import type { InferenceResponse, RequestConnection, StartedResponse, StreamDelta } from "../ports/provider.ts";
import { callProvider, deadlineOf, type ProviderCall } from "../ports/provider-call.ts";
import { ProviderError } from "../ports/provider-error.ts";
import { type BreakpointEffect, intercept } from "../session/breakpoint.ts";
import type { CallScope } from "../session/call-scope.ts";
import type { PastInference } from "../session/run-answers.ts";
import { engineActor, type LiveRun, newBlockId, type RunSession, record } from "../session/session.ts";
import { requestKey } from "../tracing/spans/span.ts";
import { acknowledge } from "./acknowledgements.ts";
import { AnswerParts } from "./answer-parts.ts";
import { ArrivingAnswer } from "./arriving-answer.ts";
import { failureOf } from "./failure-data.ts";
import type { FollowUp } from "./follow-up.ts";
import type { Prepared } from "./prepare-request.ts";
import { learn, type Retry } from "./reactions.ts";
import { type Failed, type Received, recordAnswer } from "./record-answer.ts";
import { type Retries, retryDelayMs } from "./retry.ts";

export type Attempt = {
  readonly prepared: Prepared;
  readonly scope: CallScope;
  /** How this attempt differs from the earlier ones. */
  readonly retry: Retry;
  /** Decides what follows a failure that is not simply sent again; `past` is the failure as recorded. */
  readonly otherwise: (error: ProviderError, past: InferenceFailedData | null) => Promise<FollowUp>;
};

/** Makes a request durable, sends it, and records its outcome. */
export async function ask(
  session: RunSession,
  frame: string,
  { prepared, scope, retry, otherwise, retries }: Attempt & { readonly retries: Retries },
): Promise<Received | Failed> {
  const { request, bodyText } = prepared;
  const { run } = session;
  await run.recorder.flush();
  scope.throwIfEnded();
  const { decision, requestBytes, attempt, route = null } = request;
  run.emit({ type: "request-start", frame, attempt, route, decision, requestBytes });
  const { provider } = session.engine;
  const arriving = new ArrivingAnswer(session.engine.clock, { isTimed: decision.transport !== "json" });
  const parts = partsOf(session, frame, scope);
  const onChunk = (): void => run.tracing?.chunk(requestKey(request.inferenceId));
  let isUnderWay = false;
  const answer = await answerOf(session, { kind: "inference", frame, request, bodyText }, () =>
    responseOf(session, { ...request, signal: scope.signal }, (call) =>
      provider.infer({
        bodyText,
        bodyWith: prepared.bodyWith,
        settings: prepared.settings,
        transport: decision.transport,
        ...(provider.connection === undefined ? {} : { connection: connectionOf(run, decision) }),
        signal: call.signal,
        onDelta: tellDeltas({ call, arriving, parts, onChunk }),
        onStarted: async (responseId, told) => {
          if (!call.isOpen()) return;
          isUnderWay = true;
          await startedResponse(session, frame, prepared, { responseId, ...told });
        },
      }),
    ),
  );
  if (!(answer instanceof ProviderError)) parts?.end();
  return recordAnswer(session, frame, prepared, {
    ...{ answer, arriving },
    // The server has acted on a response that it began in the background, even if waiting for it failed.
    retryInMs: (error) =>
      isUnderWay ? null : retryDelayMs(session, { error, frame, retries, settings: prepared.settings }),
    otherwise: (error) => otherwise(error, null),
    prove: () => learn(session, retry),
  });
}

/** The outcome of a recorded request. If the log has none, fetches the background response or records an interruption. */
export async function answeredBefore(
  session: RunSession,
  frame: string,
  { prepared, past, scope, retry, otherwise }: Attempt & { readonly past: PastInference },
): Promise<Received | Failed> {
  const { answer, started } = past;
  const { run } = session;
  if (answer?.type === "response") {
    const { data, at } = answer;
    run.clock.delivered(at);
    // The frame drew an id for each output item.
    for (const _ of data.output) newBlockId(run, frame);
    // The fold of the log already has these blocks.
    const { turns } = run.journal;
    const blocks = data.output.map((json) => turns.version(json.id, json.digest) ?? blockFromJson(json));
    const actor = { kind: "provider", name: session.engine.provider.name, inferenceId: data.inferenceId } as const;
    run.fold.apply({ event: { type: "ResponseReceived", version: 1, data }, actor, frame, at }, { blocks });
    acknowledge(session);
    return { data, blocks };
  }
  if (answer?.type === "failure") {
    const { data, at } = answer;
    // The request may have continued from a context that can be continued only once: later requests must not continue from it.
    run.fold.apply({ event: { type: "InferenceFailed", version: 1, data }, actor: engineActor, frame, at });
    const error = failureOf(data);
    const { retryInMs } = data;
    const followUp = retryInMs === undefined ? await otherwise(error, data) : ({ how: "retry", retryInMs } as const);
    return { error, followUp, failedAt: at };
  }
  const { provider, onLostResponse } = session.engine;
  const { request, bodyText } = prepared;
  // The time of the request was in another process, so that of the first part is not measured.
  const arriving = new ArrivingAnswer(session.engine.clock, { isTimed: false });
  // It is unknown whether the server acted. It is asked again unless the caller wants to look first.
  const recording = {
    retryInMs: ({ kind }: ProviderError) =>
      onLostResponse === "retry" && (kind === "interrupted" || kind === "lost-response") ? 0 : null,
    otherwise: (error: ProviderError) => otherwise(error, null),
    prove: () => learn(session, retry),
  };
  if (started !== null && provider.waitFor !== undefined) {
    await run.recorder.flush();
    const parts = partsOf(session, frame, scope);
    const onChunk = (): void => run.tracing?.chunk(requestKey(request.inferenceId));
    const fetched = await answerOf(session, { kind: "inference", frame, request, bodyText }, () =>
      responseOf(session, { ...request, signal: scope.signal }, async (call) => {
        if (provider.waitFor === undefined) throw new TypeError("this provider cannot wait for responses");
        const { responseId, cursor } = started;
        const onDelta = tellDeltas({ call, arriving, parts, onChunk });
        const place = cursor === undefined ? {} : { cursor };
        return provider.waitFor(responseId, { signal: call.signal, settings: prepared.settings, onDelta, ...place });
      }),
    );
    if (!(fetched instanceof ProviderError)) parts?.end();
    return recordAnswer(session, frame, prepared, { answer: fetched, arriving, ...recording });
  }
  const message = "the process that asked ended before the answer came; the server may have answered";
  const interrupted = new ProviderError(message, { kind: "interrupted", outcome: "unknown" });
  return recordAnswer(session, frame, prepared, { answer: interrupted, arriving, ...recording });
}

const connectionOf = ({ stream }: LiveRun, { lives, details }: Decision): RequestConnection => ({
  conversation: stream,
  lives: lives ?? null,
  ...(details === undefined ? {} : { details }),
});

/** The parts to show; null if the run has no observers. */
const partsOf = ({ run: { isObserved, emit } }: RunSession, frame: string, scope: CallScope): AnswerParts | null =>
  isObserved ? new AnswerParts({ frame, emit, rules: scope.deltas }) : null;

type Telling = {
  readonly call: ProviderCall;
  readonly arriving: ArrivingAnswer;
  readonly parts: AnswerParts | null;
  /** A piece of the answer has arrived. */
  readonly onChunk: () => void;
};

const tellDeltas =
  ({ call, arriving, parts, onChunk }: Telling) =>
  (delta: StreamDelta): void => {
    if (!call.isOpen()) return;
    arriving.take(delta);
    if (delta.type !== "usage") onChunk();
    parts?.take(delta);
  };

/** Calls the provider. Returns failures as values, because each has its own consequence. */
async function answerOf(
  session: RunSession,
  effect: BreakpointEffect,
  work: () => Promise<InferenceResponse>,
): Promise<InferenceResponse | ProviderError> {
  try {
    return await intercept(session.run.interceptor, effect, { work, injected: asResponse });
  } catch (error) {
    if (error instanceof ProviderError) return error;
    throw error;
  }
}

/** Returns the provider's response. If the provider throws anything but a `ProviderError`, the outcome is unknown. */
async function responseOf(
  { engine, run }: RunSession,
  { signal, inferenceId }: { readonly signal: AbortSignal; readonly inferenceId: string },
  work: (call: ProviderCall) => Promise<InferenceResponse>,
): Promise<InferenceResponse> {
  const traced = (call: ProviderCall): Promise<InferenceResponse> =>
    run.tracing === null ? work(call) : run.tracing.within(requestKey(inferenceId), () => work(call));
  try {
    const answer: unknown = await callProvider({ signal, deadlineMs: deadlineOf(engine.provider, engine) }, traced);
    if (isAnswer(answer)) return answer;
    throw new TypeError("the provider gave no response: infer must return { response }, a JSON object");
  } catch (cause) {
    if (cause instanceof ProviderError) throw cause;
    const kind = signal.aborted ? "aborted" : "provider-failed";
    throw new ProviderError(messageOf(cause), { kind, outcome: "unknown", cause });
  }
}

const isAnswer = (given: unknown): given is InferenceResponse => isJsonObject(given) && isJsonObject(given["response"]);

function asResponse(answer: JsonValue): InferenceResponse {
  if (!isJsonObject(answer)) throw new TypeError("an injected response must be a JSON object");
  return { response: answer };
}

/** Records that the response is made in the background, so that a process that takes over the run can fetch it. */
async function startedResponse(
  session: RunSession,
  frame: string,
  { request: { inferenceId }, settings }: Pick<Prepared, "request" | "settings">,
  { responseId, response, cursor }: StartedResponse & { readonly responseId: string },
): Promise<void> {
  if (typeof responseId !== "string") throw new TypeError("the provider began a response without an id");
  const actor = { kind: "provider", name: session.engine.provider.name, inferenceId } as const;
  const data = {
    ...{ inferenceId, responseId },
    ...(Number.isSafeInteger(cursor) && cursor !== undefined ? { cursor } : {}),
    ...(isJsonObject(response) && !isNestedDeeper(response, maxNesting)
      ? { first: firstSaid(response, settings) }
      : {}),
  };
  record(session.run, { type: "ResponseStarted", version: 1, data }, actor, frame);
  await session.run.recorder.flush();
}
