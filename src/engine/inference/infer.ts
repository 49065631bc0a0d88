import { TurnlogError } from "../../base/turnlog-error.ts";
import type { ResponseReceivedData } from "../../domain/events/inference-events.ts";
import type { Turn } from "../../domain/turn.ts";
import { entersTurn } from "../../projections/open-run.ts";
import { usageOf } from "../../projections/usage.ts";
import type { RunSession } from "../session/session.ts";
import { ProviderError } from "../stack/provider.ts";
import type { FailedProvider } from "../stack/route.ts";
import { alignObject, meetObjectEffects } from "./align-object.ts";
import { answeredBefore, ask } from "./ask-provider.ts";
import { type Prepared, prepare, preparedBefore } from "./prepare-request.ts";
import { forgetEvicted, type Retry, reactTo } from "./reactions.ts";
import type { Received } from "./record-answer.ts";
import { waitToRetry } from "./retry.ts";
import { countStep, routed, sessionOn } from "./routing.ts";
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
  if (step.aside === undefined) countStep(session, frame);
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

/** The response came, and says that it failed: it is recorded as a response already. */
const failedResponse = ({ message, code }: NonNullable<ResponseReceivedData["failure"]>): ProviderError =>
  new ProviderError(message, { kind: "server-error", outcome: "unknown", providerCode: code });
