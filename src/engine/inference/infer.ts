import { TurnlogError } from "../../base/turnlog-error.ts";
import type { InferenceRequestedData, ResponseReceivedData } from "../../domain/events/inference-events.ts";
import type { Turn } from "../../domain/turn.ts";
import { entersTurn } from "../../projections/client-turn/apply-to-turns.ts";
import { isSuspect } from "../../projections/server-contexts/exchange-context.ts";
import { usageOf } from "../../projections/usage.ts";
import { recordCompaction } from "../compaction/record-compaction.ts";
import { heldBefore } from "../planning/build-request.ts";
import { anchorKind } from "../ports/anchor-kind.ts";
import { ProviderError, unreadableCall } from "../ports/provider-error.ts";
import { engineActor, type RunSession, record } from "../session/session.ts";
import { alignObject, meetObjectEffects } from "./align-object.ts";
import { type Attempt, answeredBefore, ask } from "./ask-provider.ts";
import { followUpOf, type StepState } from "./follow-up.ts";
import { type Prepared, prepare, preparedBefore } from "./prepare-request.ts";
import { applyReaction, forgetEvicted } from "./reactions.ts";
import type { Failed, Received } from "./record-answer.ts";
import { countRetry, noRetries, waitToRetry } from "./retry.ts";
import { type ChosenProvider, countStep, firstAsked, sessionOn } from "./routing.ts";
import { shownBlock } from "./shown-text.ts";
import { contextLookup, type Step } from "./step-request.ts";

/**
 * One step: plans, records and sends the request, and records its outcome. If the log can mend a refusal, one more attempt of that kind
 * follows. A request that the server did not act on is sent again after a delay. Every attempt is recorded before it is sent. A resumed run
 * takes recorded outcomes from its log.
 *
 * @throws {ProviderError} if the provider refused or failed for good.
 * @throws {TurnlogError} `chain-required` if the policy requires a chained request and none is possible.
 */
export async function inferStep(session: RunSession, step: Step): Promise<Turn> {
  const { at, prepared, received } = await exchange(session, step);
  return acceptResponse(at, step, prepared, received);
}

/**
 * The same for a request that a layer makes beside the conversation: its answer enters no Turn.
 *
 * @throws {ProviderError} if the provider refused or failed for good.
 */
export async function receiveAnswer(session: RunSession, step: Step): Promise<Received> {
  const { received } = await exchange(session, step);
  if (received.data.failure !== undefined) throw failedResponse(received.data.failure);
  return received;
}

/** Makes attempts until one is answered or the step fails. */
async function exchange(
  session: RunSession,
  step: Step,
): Promise<{ readonly at: RunSession; readonly prepared: Prepared; readonly received: Received }> {
  const { frame, scope } = step;
  const state: StepState = {
    ...{ outgoing: step.outgoing, isShrunk: step.aside !== undefined, retry: {}, retries: noRetries },
    ...{ reactions: new Map(), failed: [] },
  };
  meetObjectEffects(session, step.frame);
  if (step.aside === undefined) countStep(session.run, frame);
  const told = session.run.journal.choice(frame);
  let asked: ChosenProvider | null = null;
  for (let attempt = 0; ; attempt += 1) {
    const { outgoing, retry, retries } = state;
    const past = session.run.journal.inference(frame, attempt, outgoing);
    const now = { ...step, outgoing };
    // A recorded request names its provider, whatever the router would choose today.
    const chosen: ChosenProvider =
      past === null
        ? (asked ?? firstAsked(session, now, told))
        : { at: sessionOn(session, past.request.route ?? null) };
    const { at } = chosen;
    const prepared =
      past === null
        ? await prepareNow(chosen, now, { attempt, retry })
        : preparedBefore(at, frame, { outgoing, request: past.request });
    const otherwise: Attempt["otherwise"] = (error, past) =>
      followUpOf(session, step, state, { at, error, prepared, attempt, past });
    const answer =
      past === null
        ? await ask(at, frame, { prepared, scope, retry, otherwise, retries })
        : await answeredBefore(at, frame, { prepared, past, scope, retry, otherwise });
    if (!("error" in answer)) return { at, prepared, received: answer };
    forgetEvicted(at, prepared.request);
    const again = answer.followUp.how === "retry" ? { retryInMs: answer.followUp.retryInMs } : {};
    session.run.emit({ type: "attempt-discarded", frame, attempt, reason: answer.error.kind, ...again });
    asked = { at: await goOn(at, { ...step, attempt }, state, answer) };
  }
}

/** Carries out the follow-up of a failure. Returns the session of the provider to ask next. */
async function goOn(
  at: RunSession,
  { frame, scope, attempt }: Step & { readonly attempt: number },
  state: StepState,
  { error, followUp, failedAt }: Failed,
): Promise<RunSession> {
  if ("reaction" in followUp) applyReaction(at, followUp.reaction);
  switch (followUp.how) {
    case "retry": {
      state.retries = countRetry(state.retries, error);
      const { retryInMs } = followUp;
      // If the log has the next attempt, the delay is over.
      if (!at.run.journal.hasInference(frame, attempt + 1)) await waitToRetry(at, scope, { retryInMs, failedAt });
      return at;
    }
    case "shorten":
      state.isShrunk = true;
      state.outgoing = recordCompaction(at, { frame, direction: "request" }, followUp.shorter);
      return at;
    case "mend": {
      const { without = [] } = state.retry;
      // Earlier refusals still hold: a server that lost one response may have lost them all.
      state.retry = { ...state.retry, ...followUp.retry, without: [...without, ...(followUp.retry.without ?? [])] };
      return at;
    }
    case "hand-over":
      state.failed.push({ provider: at.engine.provider, error });
      // One provider's refusal says nothing about another provider.
      state.reactions.clear();
      [state.retry, state.retries] = [{}, noRetries];
      return followUp.to;
    case "stand":
      throw followUp.error;
  }
}

type Planned = Parameters<typeof prepare>;

/** Aligns the server's conversation object first. If no request follows, the log has the provider that would have been asked. */
async function prepareNow({ at, tell }: ChosenProvider, step: Step, attempt: Planned[2]): Promise<Prepared> {
  try {
    if (at.engine.chain.mode === "conversation")
      await alignObject(at, step, { retry: attempt.retry, beforeEffect: tell });
    return tryToPrepare(at, step, attempt) ?? (await prepareOnAll(at, step, attempt));
  } catch (error) {
    tell?.();
    throw error;
  }
}

/** Returns null if planning needs parts of the conversation that were not read. */
function tryToPrepare(...planned: Planned): Prepared | null {
  try {
    return prepare(...planned);
  } catch (error) {
    if (error instanceof TurnlogError && error.code === "content-not-read") return null;
    throw error;
  }
}

async function prepareOnAll(...planned: Planned): Promise<Prepared> {
  const [session] = planned;
  await session.run.fold.readAll();
  return prepare(...planned);
}

function acceptResponse(
  session: RunSession,
  { frame, outgoing, scope }: Step,
  { request }: Prepared,
  { data, blocks }: Received,
): Turn {
  const { fold, emit, isObserved, journal } = session.run;
  const entered = blocks.filter(entersTurn);
  const result = fold.turns.response(request.inferenceId);
  if (result === null) throw new Error(`the answer to ${request.inferenceId} was not applied`);
  checkContinued(session, frame, { outgoing, request, data });
  if (isObserved && !journal.isReplaying)
    for (const block of entered) emit({ type: "block", frame, block: shownBlock(block, scope.deltas) });
  if (data.usage !== undefined) emit({ type: "usage", frame, usage: usageOf(data.usage) });
  if (data.failure !== undefined) throw failedResponse(data.failure);
  return result;
}

/** An answer and its request. */
type Exchange = {
  readonly outgoing: Turn;
  readonly request: InferenceRequestedData;
  readonly data: ResponseReceivedData;
};

/** If a server answered without the context that it was to continue from, it is not chained again (rule: Coherence). */
function checkContinued(session: RunSession, frame: string, exchange: Exchange): void {
  const { request, data } = exchange;
  if (isSuspect(request, data)) {
    distrust(session, { frame, request }, suspicion(data));
    return;
  }
  const reason = tooFewTokens(session, exchange);
  if (reason === null) return;
  const { scope } = session.engine.provider;
  if (data.anchor !== undefined) {
    const { unusable: _, ...anchor } = data.anchor;
    record(
      session.run,
      { type: "AnchorInvalidated", version: 1, data: { scope, anchor, reason: "suspect" } },
      engineActor,
      frame,
    );
  }
  distrust(session, { frame, request }, reason);
}

/** A server that never says what it continues from is acceptable, but its provider has to declare that. */
const suspicion = ({ echo = {} }: ResponseReceivedData): string =>
  Object.hasOwn(echo, "anchor")
    ? "it did not continue from what it was asked to continue from"
    : 'its answer does not say what it continued from; of a server whose answers never do, the provider says capabilities: { echo: "none" }';

function distrust(
  session: RunSession,
  { frame, request }: Pick<Exchange, "request"> & { readonly frame: string },
  reason: string,
): void {
  const { scope, codec } = session.engine.provider;
  const { anchor } = request.decision;
  const isInside = anchor !== null && anchorKind(codec, anchor)?.isObject === true;
  const capability = isInside ? "conversations" : "chain";
  session.engine.learned.set(capability, false);
  const data = { scope, capability, value: false, reason };
  record(session.run, { type: "CapabilityLearned", version: 1, data }, engineActor, frame);
}

/**
 * A server that counts the whole context, but counts less than half of what it counted before, left it out, whatever it echoes. Null if it
 * did not, or if that is unknown: a server may rightly leave out reasoning and items that only it understands, and other settings are
 * counted differently.
 */
function tooFewTokens(session: RunSession, { outgoing, request, data: { usage } }: Exchange): string | null {
  const { anchor, capabilities, changedSettings } = request.decision;
  if (anchor === null || usage === undefined || capabilities["counts"] !== "context") return null;
  if (changedSettings.length > 0 || usage.reasoningTokens > 0) return null;
  const held = heldBefore(contextLookup(session.run), anchor)?.tokens ?? 0;
  // Some servers count cached tokens separately from the input.
  const counted = usage.inputTokens + usage.cachedInputTokens;
  if (counted === 0 || counted * 2 >= held) return null;
  if (outgoing.blocks.some(({ kind }) => kind === "reasoning" || kind === "other")) return null;
  return `it counted ${counted} tokens, where what it was asked to continue from had ${held}`;
}

/** The response says that it failed: it is already recorded as a response. */
function failedResponse({ message, code }: NonNullable<ResponseReceivedData["failure"]>): ProviderError {
  const kind = code === unreadableCall ? code : "server-error";
  return new ProviderError(message, { kind, outcome: "unknown", providerCode: code });
}
