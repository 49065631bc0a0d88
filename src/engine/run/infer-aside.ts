import type { Actor } from "../../domain/actor.ts";
import { type AppendInput, draftsOf } from "../../domain/chat-message.ts";
import { asideFrame } from "../../domain/frame.ts";
import { Turn } from "../../domain/turn.ts";
import { usageOf } from "../../projections/usage.ts";
import { receiveAnswer } from "../inference/infer.ts";
import type { Step } from "../inference/step-request.ts";
import { type AsideAnswer, type AsideRequest, checkedAside } from "../ports/aside.ts";
import { answerText, withOutput } from "../ports/output.ts";
import type { CallScope } from "../session/call-scope.ts";
import { type NamedTurn, normalise, recordPass, reviseTurn } from "../session/pass.ts";
import { type LiveRun, newBlockId, type RunSession } from "../session/session.ts";
import { checkedTurn } from "./handed-on.ts";

/** The call of the layer that asks. */
type AskingCall = {
  readonly frame: string;
  /** A Turn of the run against which the asked Turn may be written. */
  readonly at: NamedTurn;
  readonly scope: CallScope;
  readonly actor: Actor;
};

/**
 * Asks the model beside the conversation, at a separate frame. The Turn, the request and the answer are recorded as the same events as in a
 * step, so they are repeated and answered from the log like a step.
 *
 * @throws {ProviderError} if the provider refused or failed for good.
 */
export async function inferAside(
  session: RunSession,
  call: AskingCall,
  { asked, onStep }: { readonly asked: AsideRequest<unknown>; readonly onStep: (step: Step) => void },
): Promise<AsideAnswer<unknown>> {
  const { input, output, settings } = checkedAside(asked);
  const frame = asideFrame(call.frame, session.run.ids.next(`aside ${call.frame}`));
  const { outgoing, answerOf } = passInwards(session, call, {
    frame,
    turn: handOver(session.run, call, { frame, input }),
  });
  try {
    const step = { frame, outgoing, scope: call.scope, aside: { settings, actor: call.actor } };
    onStep(step);
    const { data, blocks } = await receiveAnswer(session, step);
    const text = answerOf(answerText(blocks));
    const answer = { text, isComplete: data.isComplete, usage: usageOf(data.usage) };
    return await withOutput(answer, output ?? null, { text, missing: null });
  } catch (error) {
    // The error is not the layer's own.
    session.run.layers.thrown.note(error, null);
    throw error;
  }
}

/** Records the asked Turn, against the Turn of the asking call or against nothing, whichever is shorter. */
function handOver(
  run: LiveRun,
  { frame: asking, at, actor }: AskingCall,
  { frame, input }: { readonly frame: string; readonly input: Turn | AppendInput | readonly AppendInput[] },
): Turn {
  const turn = input instanceof Turn ? input : Turn.of(draftsOf(input));
  const outgoing = normalise(turn, at.turn, { names: run.names, newId: () => newBlockId(run, frame) }).frozen();
  // The asked frame is within the asking one, and gets the same Turn if nothing else is recorded.
  if (outgoing === at.turn && at.name === `given/${asking}`) return outgoing;
  const nothing: NamedTurn = { name: "empty", turn: Turn.empty };
  const pass = reviseTurn(outgoing, nothing, [at], run.fold.turns);
  recordPass(run, { pass, direction: "request", frame, actor });
  return outgoing;
}

type Passed = { readonly outgoing: Turn; readonly answerOf: (text: string) => string };

/** Passes a question through the layers inside the asking one, as far as they look at questions; their changes are recorded as theirs. */
function passInwards(
  { run, engine }: RunSession,
  { frame: asking }: AskingCall,
  { frame, turn }: { readonly frame: string; readonly turn: Turn },
): Passed {
  let outgoing = turn;
  const answers: ((text: string) => string)[] = [];
  for (const { name, version, asides } of engine.layers.slice(asking.split(".").length)) {
    if (asides === undefined) continue;
    const view = asides(outgoing, { conversationId: run.conversationId, runId: run.id });
    const changed = checkedTurn(name, view.turn, "request");
    const settled = normalise(changed, outgoing, { names: run.names, newId: () => newBlockId(run, frame) }).frozen();
    if (settled !== outgoing) {
      const pass = reviseTurn(settled, { name: `given/${frame}`, turn: outgoing }, [], run.fold.turns);
      const actor: Actor = { kind: "middleware", name, version, frame, direction: "request" };
      recordPass(run, { pass, direction: "request", frame, actor });
    }
    if (view.answer !== undefined) answers.unshift(view.answer);
    outgoing = settled;
  }
  return { outgoing, answerOf: (text) => answers.reduce((said, answer) => answer(said), text) };
}
