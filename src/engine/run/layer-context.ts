import type { JsonValue } from "../../base/json.ts";
import { anything, checkFlag, checkFunction, checkText, kindOf, optionsOf } from "../../base/options.ts";
import type { Actor } from "../../domain/actor.ts";
import { idOf } from "../../domain/block.ts";
import type { BlockId, ConversationId } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import { runEffect } from "../effects/run-effect.ts";
import { runTool } from "../effects/run-tool.ts";
import { refuseWithinEffect } from "../effects/within-effect.ts";
import { contextLookup, type Step, settingsNow } from "../inference/step-request.ts";
import { emitted } from "../options/emitted.ts";
import { splitTurn } from "../planning/instruction-blocks.ts";
import { requestSettings } from "../planning/request-settings.ts";
import type { AsideAnswer, AsideRequest } from "../ports/aside.ts";
import type { Settings } from "../ports/codec.ts";
import type { EffectOptions, EffectWork, Layer, LayerContext } from "../ports/middleware.ts";
import { derivedRandom, newBlockId, type RunSession } from "../session/session.ts";
import type { FrameSurroundings } from "./frames.ts";
import { inferAside } from "./infer-aside.ts";

const effectOptions = optionsOf<EffectOptions>({ idempotent: checkFlag, timeoutMs: anything });

/** The context that a layer gets besides the Turn. */
export const contextOf = (asked: Asking, layer: Layer, call: FrameSurroundings): LayerContext =>
  new CallContext(asked, layer, call);

/** The run, and the callback that sees each step before it is made. */
type Asking = { readonly session: RunSession; readonly onStep: (step: Step) => void };

/** Getters are defined on the class: an object with getters for every frame costs more than the rest of the frame. */
class CallContext implements LayerContext {
  readonly conversationId: ConversationId;
  readonly runId: string;
  readonly frame: string;
  readonly context: unknown;
  readonly now: LayerContext["now"];
  readonly id: LayerContext["id"];
  readonly random: LayerContext["random"];
  readonly from: LayerContext["from"];
  readonly instructions: LayerContext["instructions"];
  readonly onAcknowledged: LayerContext["onAcknowledged"];
  readonly tool: LayerContext["tool"];
  readonly canRun: LayerContext["canRun"];
  readonly offers: LayerContext["offers"];
  readonly effect: LayerContext["effect"];
  readonly infer: LayerContext["infer"];
  readonly emit: LayerContext["emit"];
  readonly #session: RunSession;
  readonly #call: FrameSurroundings;

  constructor({ session, onStep }: Asking, { name, version }: Layer, call: FrameSurroundings) {
    const { frame, scope } = call;
    const { run } = session;
    this.#session = session;
    this.#call = call;
    this.conversationId = run.conversationId;
    this.runId = run.id;
    this.frame = frame;
    this.context = session.engine.context;
    this.now = () => run.clock.at;
    const refuse = (asked: string): void => refuseWithinEffect(run.id, asked);
    this.id = () => {
      refuse("ctx.id");
      return newBlockId(run, frame);
    };
    this.random = () => {
      refuse("ctx.random");
      return derivedRandom(run, frame);
    };
    this.from = (turn) => call.from(turn);
    const actorOf = (direction: "request" | "response"): Actor => ({
      ...{ kind: "middleware", name, version, frame, direction },
    });
    this.instructions = (text) => {
      if (typeof text !== "string")
        throw new TypeError(`ctx.instructions: text is ${kindOf(text)}: give the text for the model`);
      scope.instructions = [...scope.instructions, { text, actor: actorOf("request") }];
    };
    this.onAcknowledged = (work) => {
      checkFunction("ctx.onAcknowledged: work", work);
      const id = newBlockId(run, frame);
      const actor = actorOf("response");
      const after = run.fold.server.contexts.length;
      run.acknowledgements.waiting.push({ id, frame, actor, after, work });
    };
    this.effect = <Value extends JsonValue>(called: string, work: EffectWork<Value>, options: EffectOptions = {}) => {
      refuse("ctx.effect");
      checkText("ctx.effect: name", called, "the name to record in the log");
      checkFunction(`ctx.effect '${called}': work`, work);
      effectOptions.check("ctx.effect", options, `ctx.effect '${called}': `);
      const { signal } = scope;
      const place = {
        ...options,
        id: newBlockId(run, frame),
        name: called,
        frame,
        actor: actorOf("request"),
        signal,
      };
      // A value from the log was returned by this work before, or given by the person who settled it.
      return call.during(run.gate.during(runEffect(session, place, work))) as Promise<Value>;
    };
    this.infer = <Output>(asked: AsideRequest<Output>) => {
      refuse("ctx.infer");
      const at = { name: `given/${frame}`, turn: call.given } as const;
      const asking = { frame, at, scope, actor: actorOf("request") };
      // The schema that has this type validated the answer.
      return call.during(run.gate.during(inferAside(session, asking, { asked, onStep }))) as Promise<
        AsideAnswer<Output>
      >;
    };
    this.tool = (block) => {
      refuse("ctx.tool");
      return call.during(run.gate.during(runTool(session, frame, block, scope.signal)));
    };
    this.emit = (called, given) => {
      run.emit({ type: "data", frame, ...emitted(called, given), layer: name, call: null });
    };
    this.canRun = (block) => block.id !== null && run.fold.turns.ownCall(block.id) !== null;
    this.offers = (tool) => session.engine.provider.codec.offeredTools(this.settings).includes(tool);
  }

  get settings(): Settings {
    const { engine, run } = this.#session;
    const { given, scope } = this.#call;
    const { instructions } = splitTurn(run.fold.view, given, engine.provider);
    const added = scope.instructions.map(({ text }) => text);
    const asked = { ...engine, settings: settingsNow(this.#session) };
    return requestSettings(asked, engine.provider.capabilities, [...instructions, ...added]);
  }

  get signal(): AbortSignal {
    return this.#call.scope.signal;
  }

  get replaying(): boolean {
    return this.#session.run.journal.isReplaying;
  }

  get summarising(): boolean {
    return this.#session.engine.compact.only === true;
  }

  get unsent(): ReadonlySet<BlockId> {
    return unsentOf(this.#session, this.#call.given);
  }
}

/** The blocks after the deepest context that a server holds. */
function unsentOf(session: RunSession, turn: Turn): ReadonlySet<BlockId> {
  const { byTurn } = contextLookup(session.run);
  const { input } = splitTurn(session.run.fold.view, turn, session.engine.provider);
  for (const { length, digest } of input.contexts()) {
    if (length > 0 && byTurn(digest).length > 0) return new Set(input.after(length).map(idOf));
  }
  return new Set(turn.blocks.map(idOf));
}
