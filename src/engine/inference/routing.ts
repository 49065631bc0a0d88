import { messageOf } from "../../base/error-message.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { RouterChoice } from "../../domain/events/inference-events.ts";
import { mustHaveRoute } from "../session/errors.ts";
import { engineActor, type LiveRun, type RunSession, record } from "../session/session.ts";
import { engineOn } from "../stack/adjusted-engine.ts";
import { chosenRoute, type FailedProvider } from "../stack/route.ts";
import type { Step } from "./step-request.ts";

/**
 * The session of a run that asks one of its providers, named as the log names it; null is the engine's own.
 *
 * @throws {TurnlogError} `route-not-found` where the engine has no provider of that name.
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

/** Who is asked. */
export type ChosenProvider = {
  readonly at: RunSession;
  /** Records whom the router chose. The request says it as well: this is for what comes without one, or before it. */
  readonly tell?: () => void;
};

/**
 * Who is asked first at a step: as `told` has it, the log's own word, else by the router's.
 *
 * @throws {TurnlogError} `route-failed` where the router gives nobody, which is then in the log.
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

/** Whether a router says who is asked at a step. */
export const isRouted = ({ engine }: RunSession, { aside }: Step): boolean =>
  engine.routing !== null && aside === undefined;

/**
 * Who is asked at a step, by the router's word. What is asked beside the conversation is asked of the engine's own provider.
 *
 * @throws {TurnlogError} `route-failed` where the router throws, or gives what is none of the engine's providers.
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
    throw new TurnlogError("route-failed", `the router did not say who is asked: ${messageOf(cause)}`, { cause });
  }
}

/** Which step of the run a frame is, from 0: those that a run which is taken up has behind it count as well. */
export function countStep({ routing: { steps } }: LiveRun, frame: string): number {
  const number = steps.get(frame) ?? steps.size;
  steps.set(frame, number);
  return number;
}
