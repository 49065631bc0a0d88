import { messageOf } from "../../base/error-message.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { InferenceFailedData, NextProvider } from "../../domain/events/inference-events.ts";
import type { Turn } from "../../domain/turn.ts";
import { type Shorter, shorterAfter } from "../compaction/compaction.ts";
import type { FailedProvider } from "../options/route.ts";
import type { ProviderError } from "../ports/provider-error.ts";
import type { RunSession } from "../session/session.ts";
import type { Prepared } from "./prepare-request.ts";
import { type Reaction, type Retry, reactionTo } from "./reactions.ts";
import type { Retries } from "./retry.ts";
import { isRouted, routed, sessionOn } from "./routing.ts";
import type { Step } from "./step-request.ts";

/** The state of a step after the attempts made so far. */
export type StepState = {
  outgoing: Turn;
  isShrunk: boolean;
  retry: Retry;
  /** How often the same request was sent again to the same provider. */
  retries: Retries;
  /** How often the step reacted to each refusal. */
  readonly reactions: Map<string, number>;
  /** The providers that have failed for good. */
  readonly failed: FailedProvider[];
};

/** The step's reaction to a failed attempt. It is decided before the failure is recorded, so that the failure's event contains it. */
export type FollowUp =
  | { readonly how: "retry"; readonly retryInMs: number }
  | { readonly how: "shorten"; readonly shorter: Shorter }
  | { readonly how: "mend"; readonly retry: Retry; readonly reaction: Reaction }
  | {
      readonly how: "hand-over";
      readonly to: RunSession;
      readonly reaction: Reaction;
      readonly next?: NextProvider | undefined;
    }
  | {
      readonly how: "stand";
      readonly error: Error;
      readonly reaction: Reaction;
      readonly next?: NextProvider | undefined;
    };

/** The part of a failure's event that says what follows it. */
export function toldOf(followUp: FollowUp): Pick<InferenceFailedData, "retryInMs" | "next"> {
  if (followUp.how === "retry") return { retryInMs: followUp.retryInMs };
  return "next" in followUp && followUp.next !== undefined ? { next: followUp.next } : {};
}

type FailedAttempt = {
  /** The session of the provider that failed. */
  readonly at: RunSession;
  readonly error: ProviderError;
  readonly prepared: Prepared;
  readonly attempt: number;
  /** The failure as recorded; null if it is new. */
  readonly past: InferenceFailedData | null;
};

/** Decides what follows an attempt that is not simply sent again: a changed request, another provider, or failure. */
export async function followUpOf(
  session: RunSession,
  step: Step,
  state: StepState,
  { at, error, prepared: { request, settings, shaped }, attempt, past }: FailedAttempt,
): Promise<FollowUp> {
  const { outgoing, reactions, isShrunk } = state;
  const shorter = isShrunk ? null : await shorterAfter(at, error, outgoing);
  if (shorter !== null) return { how: "shorten", shorter };
  const reaction = reactionTo(at, { error, request, settings, shaped, outgoing, reactions });
  const { retry } = reaction;
  if (retry !== null) return { how: "mend", retry, reaction };
  const asked = { ...step, outgoing };
  const failed = [...state.failed, { provider: at.engine.provider, error }];
  if (past !== null && past.next === undefined) {
    const to = handedOver(session, asked, { attempt, failed });
    return to === null ? { how: "stand", error, reaction } : { how: "hand-over", to, reaction };
  }
  const { next, cause } = past === null ? chooseNext(session, asked, failed) : { next: past.next, cause: undefined };
  if (next == null) return { how: "stand", error, next, reaction };
  if ("error" in next) return { how: "stand", error: routeFailed(error, next.error, cause), next, reaction };
  return { how: "hand-over", to: sessionOn(session, next.route), next, reaction };
}

/** The router's choice for a step whose provider has failed for good; undefined if the router is not asked. */
function chooseNext(
  session: RunSession,
  step: Step,
  failed: readonly FailedProvider[],
): { readonly next: NextProvider | undefined; readonly cause?: unknown } {
  if (!isRouted(session, step) || hasEnded(session)) return { next: undefined };
  // The call has ended: its answer is no longer needed.
  if (step.scope.signal.aborted) return { next: null };
  try {
    const { engine, route } = routed(session, step, failed);
    return { next: hasFailed(engine, failed) ? null : { route } };
  } catch (cause) {
    return { next: { error: messageOf(cause) }, cause };
  }
}

/** The same for a failure whose event does not say what follows: in older logs only the later events show it. */
function handedOver(
  session: RunSession,
  step: Step,
  { attempt, failed }: { readonly attempt: number; readonly failed: readonly FailedProvider[] },
): RunSession | null {
  const { journal } = session.run;
  if (!isRouted(session, step) || step.scope.signal.aborted) return null;
  if (journal.hasInference(step.frame, attempt + 1)) return session;
  // The log goes on without another attempt: the failure was final.
  if (journal.isReplaying || hasEnded(session)) return null;
  const next = routed(session, step, failed);
  return hasFailed(next.engine, failed) ? null : next;
}

/** Whether the log has the end of the run, so that the run is only re-executed. */
const hasEnded = ({ run }: RunSession): boolean => run.fold.view.client.run?.id !== run.id;

const hasFailed = ({ provider }: RunSession["engine"], failed: readonly FailedProvider[]): boolean =>
  failed.some((each) => each.provider === provider);

/** The text is the same when the choice comes from the log. */
const routeFailed = ({ message }: ProviderError, why: string, cause: unknown): TurnlogError =>
  new TurnlogError(
    "route-failed",
    `${why}; the provider before had failed: ${message}`,
    cause === undefined ? {} : { cause },
  );
