import { messageOf } from "../../base/error-message.ts";
import { isJsonObject, isNestedDeeper, type JsonValue, maxNesting } from "../../base/json.ts";
import { blockFromJson } from "../../domain/block-json.ts";
import type { Decision, InferenceFailedData } from "../../domain/events/inference-events.ts";
import { firstSaid } from "../planning/response.ts";
import { type BreakpointEffect, intercept } from "../session/breakpoint.ts";
import type { CallScope } from "../session/call-scope.ts";
import { callProvider, deadlineOf, type ProviderCall } from "../session/provider-call.ts";
import type { PastInference } from "../session/run-answers.ts";
import { engineActor, type LiveRun, newBlockId, type RunSession, record } from "../session/session.ts";
import {
  type InferenceResponse,
  ProviderError,
  type RequestConnection,
  type StartedResponse,
  type StreamDelta,
} from "../stack/provider.ts";
import { acknowledge } from "./acknowledgements.ts";
import { failureOf } from "./failure-data.ts";
import type { FollowUp } from "./follow-up.ts";
import type { Prepared } from "./prepare-request.ts";
import { learn, type Retry } from "./reactions.ts";
import { type Failed, type Received, recordAnswer } from "./record-answer.ts";
import { type Retries, retryDelayMs } from "./retry.ts";

export type Attempt = {
  readonly prepared: Prepared;
  readonly scope: CallScope;
  /** What it does otherwise than those before. */
  readonly retry: Retry;
  /** What comes after a failure that is not simply sent again; `past` is the failure as the log has it. */
  readonly otherwise: (error: ProviderError, past: InferenceFailedData | null) => Promise<FollowUp>;
};

/** Sends a request that is durable, and records what came of it. */
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
  let isUnderWay = false;
  const answer = await answerOf(session, { kind: "inference", frame, request, bodyText }, () =>
    responseOf(session, scope.signal, (call) =>
      provider.infer({
        bodyText,
        bodyWith: prepared.bodyWith,
        settings: prepared.settings,
        transport: decision.transport,
        ...(provider.connection === undefined ? {} : { connection: connectionOf(run, decision) }),
        signal: call.signal,
        onDelta: tellDeltas(session, frame, call),
        onStarted: async (responseId, told) => {
          if (!call.isOpen()) return;
          isUnderWay = true;
          await startedResponse(session, frame, prepared, { responseId, ...told });
        },
      }),
    ),
  );
  return recordAnswer(session, frame, prepared, {
    answer,
    // What the server began in the background it has acted on, whatever became of the waiting for it.
    retryInMs: (error) =>
      isUnderWay ? null : retryDelayMs(session, { error, frame, retries, settings: prepared.settings }),
    otherwise: (error) => otherwise(error, null),
    prove: () => learn(session, retry),
  });
}

/** What came of a request that the log has. */
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
    // The frame has drawn an id for each of them.
    for (const _ of data.output) newBlockId(run, frame);
    // The fold of the log has them already.
    const { turns } = run.journal;
    const blocks = data.output.map((json) => turns.version(json.id, json.digest) ?? blockFromJson(json));
    const actor = { kind: "provider", name: session.engine.provider.name, inferenceId: data.inferenceId } as const;
    run.fold.apply({ event: { type: "ResponseReceived", version: 1, data }, actor, frame, at }, { blocks });
    acknowledge(session);
    return { data, blocks };
  }
  if (answer?.type === "failure") {
    const { data, at } = answer;
    // It may have gone on from what can be continued once: the requests behind it go on from there no more.
    run.fold.apply({ event: { type: "InferenceFailed", version: 1, data }, actor: engineActor, frame, at });
    const error = failureOf(data);
    const { retryInMs } = data;
    const followUp = retryInMs === undefined ? await otherwise(error, data) : ({ how: "retry", retryInMs } as const);
    return { error, followUp, failedAt: at };
  }
  const { provider, onLostResponse } = session.engine;
  const { request, bodyText } = prepared;
  // Nobody knows whether the server acted; it is asked again unless the caller wants to look first.
  const recording = {
    retryInMs: ({ kind }: ProviderError) =>
      onLostResponse === "retry" && (kind === "interrupted" || kind === "lost-response") ? 0 : null,
    otherwise: (error: ProviderError) => otherwise(error, null),
    prove: () => learn(session, retry),
  };
  if (started !== null && provider.waitFor !== undefined) {
    await run.recorder.flush();
    const fetched = await answerOf(session, { kind: "inference", frame, request, bodyText }, () =>
      responseOf(session, scope.signal, async (call) => {
        if (provider.waitFor === undefined) throw new TypeError("this provider waits for no responses");
        const { responseId, cursor } = started;
        const onDelta = tellDeltas(session, frame, call);
        const place = cursor === undefined ? {} : { cursor };
        return provider.waitFor(responseId, { signal: call.signal, settings: prepared.settings, onDelta, ...place });
      }),
    );
    return recordAnswer(session, frame, prepared, { answer: fetched, ...recording });
  }
  const message = "the process that asked ended before the answer came; the server may have answered";
  const interrupted = new ProviderError(message, { kind: "interrupted", outcome: "unknown" });
  return recordAnswer(session, frame, prepared, { answer: interrupted, ...recording });
}

const connectionOf = ({ stream }: LiveRun, { lives, details }: Decision): RequestConnection => ({
  conversation: stream,
  lives: lives ?? null,
  ...(details === undefined ? {} : { details }),
});

const tellDeltas =
  (session: RunSession, frame: string, call: ProviderCall) =>
  (delta: StreamDelta): void => {
    if (delta.type !== "item-done" && call.isOpen()) session.run.emit({ ...delta, frame });
  };

/** A call to the provider; its failures are values, for each has its own consequence. */
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

/** What a provider gives. Where it throws what is no error of a provider, nobody knows what the server did. */
async function responseOf(
  { engine }: RunSession,
  signal: AbortSignal,
  work: (call: ProviderCall) => Promise<InferenceResponse>,
): Promise<InferenceResponse> {
  try {
    const answer: unknown = await callProvider({ signal, deadlineMs: deadlineOf(engine.provider, engine) }, work);
    if (isAnswer(answer)) return answer;
    throw new TypeError("the provider gave no response: infer has to give { response }, a JSON object");
  } catch (cause) {
    if (cause instanceof ProviderError) throw cause;
    const kind = signal.aborted ? "aborted" : "provider-failed";
    throw new ProviderError(messageOf(cause), { kind, outcome: "unknown", cause });
  }
}

const isAnswer = (given: unknown): given is InferenceResponse => isJsonObject(given) && isJsonObject(given["response"]);

function asResponse(answer: JsonValue): InferenceResponse {
  if (!isJsonObject(answer)) throw new TypeError("what takes the place of a response is a JSON object");
  return { response: answer };
}

/** The response is made in the background: the process that takes the run up fetches it. */
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
