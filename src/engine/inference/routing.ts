import { messageOf } from "../../base/error-message.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { RouterChoice } from "../../domain/events/inference-events.ts";
import { engineOn } from "../options/adjusted-engine.ts";
import { chosenRoute, type FailedProvider } from "../options/route.ts";
import { mustHaveRoute } from "../session/errors.ts";
import { engineActor, type LiveRun, type RunSession, record } from "../session/session.ts";
import type { Step } from "./step-request.ts";

/**
 * The session of a run for one of its providers, by the name in the log; null is the engine's own provider.
 *
 * @throws {TurnlogError} `route-not-found` if the engine has no provider of that name.
 */
export function sessionOn({ run, engine }: RunSession, route: string | null): RunSession {
  const { sessions } = run.routing;
  const known = sessions.get(route);
  if (known !== undefined) return known;
  mustHaveRoute(run.id, engine, route);
  const other = route === null ? undefined : engine.routing?.others.get(route);
  if (other === undefined) throw new TypeError("a run has a session of the engine's own provider from its beginning");
  const session = { run, engine: engineOn(engine, other), route, transport: other.provider.transport };
  sessions.set(route, session);
  return session;
}

/** The provider to ask. */
export type ChosenProvider = {
  readonly at: RunSession;
  /** Records the router's choice. The request has it too: this is for a step without a request, and for events before it. */
  readonly tell?: () => void;
};

/**
 * The first provider to ask at a step: the recorded choice (`told`) if there is one, else the router's.
 *
 * @throws {TurnlogError} `route-failed` if the router chose no provider, which is then in the log.
 */
export function firstAsked(session: RunSession, step: Step, told: RouterChoice | null): ChosenProvider {
  if (told !== null) {
    if ("error" in told) throw new TurnlogError("route-failed", told.error);
    return { at: sessionOn(session, told.route) };
  }
  if (!isRouted(session, step)) return { at: session };
  let isTold = false;
  const tell = (data: RouterChoice): void => {
    if (!isTold) record(session.run, { type: "StepRouted", version: 1, data }, engineActor, step.frame);
    isTold = true;
  };
  try {
    const at = routed(session, step, []);
    return { at, tell: () => tell({ route: at.route }) };
  } catch (error) {
    tell({ error: messageOf(error) });
    throw error;
  }
}

/** Whether a router chooses the provider of a step. */
export const isRouted = ({ engine }: RunSession, { aside }: Step): boolean =>
  engine.routing !== null && aside === undefined;

/**
 * The session of the provider that the router chooses for a step. Requests beside the conversation go to the engine's own provider.
 *
 * @throws {TurnlogError} `route-failed` if the router throws, or returns none of the engine's providers.
 */
export function routed(session: RunSession, step: Step, failed: readonly FailedProvider[]): RunSession {
  const { engine, run } = session;
  if (!isRouted(session, step)) return session;
  const usage = { totalTokens: run.fold.spentTokens };
  const number = countStep(run, step.frame);
  const question = { turn: step.outgoing, step: number, usage, failed: [...failed] };
  return sessionOn(session, chosenBy(engine, question));
}

function chosenBy(...asked: Parameters<typeof chosenRoute>): string | null {
  try {
    return chosenRoute(...asked);
  } catch (cause) {
    throw new TurnlogError("route-failed", `the router did not choose a provider: ${messageOf(cause)}`, { cause });
  }
}

/** The number of a frame's step in the run, from 0. The steps that a resumed run has already made count as well. */
export function countStep({ routing: { steps } }: LiveRun, frame: string): number {
  const number = steps.get(frame) ?? steps.size;
  steps.set(frame, number);
  return number;
}
