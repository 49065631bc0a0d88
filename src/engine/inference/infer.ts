import { messageOf } from "../../base/error-message.ts";
import { isJsonObject, isNestedDeeper, type JsonValue, maxNesting } from "../../base/json.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { blockFromJson } from "../../domain/block-json.ts";
import type { Decision, ResponseReceivedData } from "../../domain/events/inference-events.ts";
import { isAside } from "../../domain/frame.ts";
import type { Turn } from "../../domain/turn.ts";
import { entersTurn } from "../../projections/client-turn.ts";
import { usageOf } from "../../projections/usage.ts";
import { firstSaid } from "../planning/response.ts";
import { type BreakpointEffect, intercept } from "../session/breakpoint.ts";
import type { CallScope } from "../session/call-scope.ts";
import type { PastInference } from "../session/run-answers.ts";
import { delivered, engineActor, newBlockId, type RunSession, record } from "../session/session.ts";
import {
  type InferenceResponse,
  ProviderError,
  type RequestConnection,
  type StartedResponse,
  type StreamDelta,
} from "../stack/provider.ts";
import type { FailedProvider } from "../stack/route.ts";
import { acknowledge } from "./acknowledgements.ts";
import { alignObject, meetObjectEffects } from "./align-object.ts";
import { failureOf } from "./failure-data.ts";
import { type Prepared, prepare, preparedBefore } from "./prepare-request.ts";
import { forgetEvicted, learn, type Retry, reactTo } from "./reactions.ts";
import { type Failed, type Received, recordAnswer } from "./record-answer.ts";
import { retryDelayMs, waitToRetry } from "./retry.ts";
import { routed, sessionOn } from "./routing.ts";
import { shrink } from "./shrink.ts";
import type { Step } from "./step-request.ts";
import { checkContinued } from "./suspect-answer.ts";

/**
 * One step: plans, records and sends the request, and records what came back. A refusal that the log can mend is answered
 * by one more attempt of its kind, and what the server did not act on is sent again after a while; every attempt is an event
 * before it is a call. What the log of a run that was cut off knows is not asked again.
 *
 * @throws {ProviderError} when the provider refused or failed for good.
 * @throws {TurnlogError} `chain-required` when the policy requires a chained request and none is possible.
 */
export async function inferStep(session: RunSession, step: Step): Promise<Turn> {
  const { at, prepared, received } = await exchange(session, step);
  return acceptResponse(at, step, prepared, received);
}

/**
 * The same for what a layer asks beside the conversation: no Turn gets the answer.
 *
 * @throws {ProviderError} when the provider refused or failed for good.
 */
export async function receiveAnswer(session: RunSession, step: Step): Promise<Received> {
  const { received } = await exchange(session, step);
  if (received.data.failure !== undefined) throw failedResponse(received.data.failure);
  return received;
}

/** Asks until there is an answer, or none to be had. */
async function exchange(
  session: RunSession,
  step: Step,
): Promise<{ readonly at: RunSession; readonly prepared: Prepared; readonly received: Received }> {
  const { frame, scope } = step;
  // A refusal for its length makes it shorter, once.
  let { outgoing } = step;
  let isShrunk = step.aside !== undefined;
  meetObjectEffects(session, step.frame);
  const reactions = new Map<string, number>();
  const failed: FailedProvider[] = [];
  let asked: RunSession | null = null;
  let retry: Retry = {};
  let retries = 0;
  for (let attempt = 0; ; attempt += 1) {
    const past = session.journal.inference(frame, attempt, outgoing);
    // Whom the log says was asked, whatever the router says today.
    const at: RunSession =
      past === null
        ? (asked ?? routed(session, { ...step, outgoing }, failed))
        : sessionOn(session, past.request.route ?? null);
    asked = at;
    const prepared =
      past === null
        ? await prepareNow(at, { ...step, outgoing }, { attempt, retry })
        : preparedBefore(at, frame, { outgoing, request: past.request });
    const answer =
      past === null
        ? await ask(at, frame, { prepared, scope, retry, retries })
        : await answeredBefore(at, frame, { prepared, past, scope, retry });
    if (!("error" in answer)) return { at, prepared, received: answer };
    const { error, retryInMs } = answer;
    forgetEvicted(at, prepared.request);
    const again = retryInMs === null ? {} : { retryInMs };
    session.emit({ type: "attempt-discarded", frame, attempt, reason: error.kind, ...again });
    if (retryInMs !== null) {
      if (error.outcome === "rejected") retries += 1;
      // An attempt that the log has was waited for then.
      const isKnown = session.journal.hasInference(frame, attempt + 1);
      if (!isKnown) await waitToRetry(at, scope, { ...answer, retryInMs });
      continue;
    }
    if (error.kind === "context-length-exceeded" && error.outcome === "rejected" && !isShrunk) {
      isShrunk = true;
      const shorter = await shrink(at, frame, outgoing);
      if (shorter === null) throw error;
      outgoing = shorter;
      continue;
    }
    const { request, settings, shaped } = prepared;
    const reaction = reactTo(at, { error, request, settings, shaped, outgoing, reactions });
    if (reaction === null) {
      failed.push({ provider: at.engine.provider, error });
      asked = elsewhere(session, { ...step, outgoing }, { attempt, failed });
      if (asked === null) throw error;
      // What one refused says nothing of another.
      reactions.clear();
      [retry, retries] = [{}, 0];
      continue;
    }
    // What an earlier refusal said still holds: a server that lost one response may have lost them all.
    retry = { ...retry, ...reaction, without: [...(retry.without ?? []), ...(reaction.without ?? [])] };
  }
}

/** Who is asked next at a step whose provider failed for good; null where nobody is. */
function elsewhere(
  session: RunSession,
  step: Step,
  { attempt, failed }: { readonly attempt: number; readonly failed: readonly FailedProvider[] },
): RunSession | null {
  if (session.engine.routing === null || step.aside !== undefined || session.running.aborted) return null;
  // What the log has says who was.
  if (session.journal.hasInference(step.frame, attempt + 1)) return session;
  // And so it does where the failure stood: something came after it.
  const hasEnded = session.view().client.run?.id !== session.runId;
  if (session.journal.isReplaying || hasEnded) return null;
  const next = routed(session, step, failed);
  return failed.some(({ provider }) => provider === next.engine.provider) ? null : next;
}

/** What the server holds outside of responses is put in order first. */
async function prepareNow(session: RunSession, step: Step, attempt: Parameters<typeof prepare>[2]): Promise<Prepared> {
  if (session.engine.chain.mode === "conversation") await alignObject(session, step, attempt.retry);
  return tryToPrepare(session, step, attempt) ?? (await prepareOnAll(session, step, attempt));
}

/** Null where something is asked of the conversation that was not read. */
function tryToPrepare(...planned: Parameters<typeof prepare>): Prepared | null {
  try {
    return prepare(...planned);
  } catch (error) {
    if (error instanceof TurnlogError && error.code === "content-not-read") return null;
    throw error;
  }
}

async function prepareOnAll(...planned: Parameters<typeof prepare>): Promise<Prepared> {
  const [session] = planned;
  await session.readAll();
  return prepare(...planned);
}

type Attempt = {
  readonly prepared: Prepared;
  readonly scope: CallScope;
  /** What it does otherwise than those before. */
  readonly retry: Retry;
};

/** Sends a request that is durable, and records what came of it. */
async function ask(
  session: RunSession,
  frame: string,
  { prepared, scope, retry, retries }: Attempt & { readonly retries: number },
): Promise<Received | Failed> {
  const { request, bodyText } = prepared;
  await session.recorder.flush();
  scope.throwIfEnded();
  const { decision, requestBytes, attempt } = request;
  session.emit({ type: "request-start", frame, attempt, decision, requestBytes });
  const { provider } = session.engine;
  const { signal } = scope;
  let isUnderWay = false;
  const answer = await answerOf(session, { kind: "inference", frame, request, bodyText }, () =>
    responseOf(signal, () =>
      provider.infer({
        bodyText,
        settings: prepared.settings,
        transport: decision.transport,
        ...(provider.connection === undefined ? {} : { connection: connectionOf(session, decision) }),
        signal,
        onDelta: tellDeltas(session, frame),
        onStarted: (responseId, told) => {
          isUnderWay = true;
          return startedResponse(session, frame, prepared, { responseId, ...told });
        },
      }),
    ),
  );
  return recordAnswer(session, frame, prepared, {
    answer,
    // What the server began in the background it has acted on, whatever became of the waiting for it.
    retryInMs: (error) => (isUnderWay ? null : retryDelayMs(session, { error, frame, retries })),
    prove: () => learn(session, retry),
  });
}

const connectionOf = ({ stream }: RunSession, { lives, details }: Decision): RequestConnection => ({
  conversation: stream,
  lives: lives ?? null,
  ...(details === undefined ? {} : { details }),
});

const tellDeltas =
  (session: RunSession, frame: string) =>
  (delta: StreamDelta): void => {
    if (delta.type !== "item-done") session.emit({ ...delta, frame });
  };

/** A call to the provider; its failures are values, for each has its own consequence. */
async function answerOf(
  session: RunSession,
  effect: BreakpointEffect,
  work: () => Promise<InferenceResponse>,
): Promise<InferenceResponse | ProviderError> {
  try {
    return await intercept(session.interceptor, effect, { work, injected: asResponse });
  } catch (error) {
    if (error instanceof ProviderError) return error;
    throw error;
  }
}

/** What a provider gives. Where it throws what is no error of a provider, nobody knows what the server did. */
async function responseOf(signal: AbortSignal, work: () => Promise<InferenceResponse>): Promise<InferenceResponse> {
  try {
    const answer = await work();
    if (isJsonObject(answer.response)) return answer;
    throw new TypeError("the provider gave no response");
  } catch (cause) {
    if (cause instanceof ProviderError) throw cause;
    const kind = signal.aborted ? "aborted" : "provider-failed";
    throw new ProviderError(messageOf(cause), { kind, outcome: "unknown", cause });
  }
}

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
  record(session, { type: "ResponseStarted", version: 1, data }, actor, frame);
  await session.recorder.flush();
}

function acceptResponse(
  session: RunSession,
  { frame, outgoing }: Step,
  { request }: Prepared,
  { data, blocks }: Received,
): Turn {
  const { provider } = session.engine;
  const actor = { kind: "provider", name: provider.name, inferenceId: request.inferenceId } as const;
  const entered = blocks.filter(entersTurn);
  const result = session.turns.respond(frame, entered, actor);
  session.isWhole = data.isComplete;
  checkContinued(session, frame, { outgoing, request, data });
  for (const block of entered) session.emit({ type: "block", frame, block });
  if (data.usage !== undefined) session.emit({ type: "usage", frame, usage: usageOf(data.usage) });
  if (data.failure !== undefined) throw failedResponse(data.failure);
  return result;
}

/** What came of a request that the log has. */
async function answeredBefore(
  session: RunSession,
  frame: string,
  { prepared, past, scope, retry }: Attempt & { readonly past: PastInference },
): Promise<Received | Failed> {
  const { answer, started } = past;
  if (answer?.type === "response") {
    const { data, at } = answer;
    delivered(session, at);
    // The frame has drawn an id for each of them.
    for (const _ of data.output) newBlockId(session, frame);
    if (!isAside(frame)) acknowledge(session, { index: session.server.contexts.length, frame });
    session.apply({ event: { type: "ResponseReceived", version: 1, data }, actor: engineActor, frame, at });
    // The fold of the log has them already.
    const { turns } = session.journal;
    const blocks = data.output.map((json) => turns.version(json.id, json.digest) ?? blockFromJson(json));
    return { data, blocks };
  }
  if (answer?.type === "failure") {
    const { data, at } = answer;
    // It may have gone on from what can be continued once: the requests behind it go on from there no more.
    session.apply({ event: { type: "InferenceFailed", version: 1, data }, actor: engineActor, frame, at });
    return { error: failureOf(data), retryInMs: data.retryInMs ?? null, failedAt: at };
  }
  const { provider, onLostResponse } = session.engine;
  const { request, bodyText } = prepared;
  // Nobody knows whether the server acted; it is asked again unless the caller wants to look first.
  const retryInMs = ({ kind }: ProviderError): number | null =>
    onLostResponse === "retry" && (kind === "interrupted" || kind === "lost-response") ? 0 : null;
  const prove = (): void => learn(session, retry);
  if (started !== null && provider.waitFor !== undefined) {
    await session.recorder.flush();
    const { signal } = scope;
    const fetched = await answerOf(session, { kind: "inference", frame, request, bodyText }, () =>
      responseOf(signal, async () => {
        if (provider.waitFor === undefined) throw new TypeError("this provider waits for no responses");
        const { responseId, cursor } = started;
        const onDelta = tellDeltas(session, frame);
        const place = cursor === undefined ? {} : { cursor };
        return provider.waitFor(responseId, { signal, settings: prepared.settings, onDelta, ...place });
      }),
    );
    return recordAnswer(session, frame, prepared, { answer: fetched, retryInMs, prove });
  }
  const message = "the process that asked ended before the answer came; the server may have answered";
  const interrupted = new ProviderError(message, { kind: "interrupted", outcome: "unknown" });
  return recordAnswer(session, frame, prepared, { answer: interrupted, retryInMs, prove });
}

/** The response came, and says that it failed: it is recorded as a response already. */
const failedResponse = ({ message, code }: NonNullable<ResponseReceivedData["failure"]>): ProviderError =>
  new ProviderError(message, { kind: "server-error", outcome: "unknown", providerCode: code });
