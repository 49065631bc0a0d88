import { canonicalJson } from "../../base/canonical-json.ts";
import { checkJson } from "../../base/frozen-json.ts";
import { isJsonObject, type JsonValue } from "../../base/json.ts";
import { anything, checkText, kindOf, optionsOf } from "../../base/options.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { unwatched } from "../../base/unwatched.ts";
import type { Block } from "../../domain/block.ts";
import type { LayerDescription } from "../../domain/events/run-events.ts";
import type { BlockId, ConversationId } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import type { AsideAnswer, AsideRequest } from "./aside.ts";
import type { Settings } from "./codec.ts";
import type { Tool } from "./tool.ts";

/** Passes a Turn inwards and gives back what came of it: the Turn with the answer. */
export type Next = (turn: Turn) => Promise<Turn>;

/** What a layer does with one call. */
export type LayerHandler<Context = unknown> = (turn: Turn, ctx: LayerContext<Context>) => Promise<Turn>;

/** A layer of the stack, as a function of what is inside it. */
export type Layer<Context = unknown> = {
  readonly name: string;
  /** Semantic version: recovery asks whether the major one is still the same. */
  readonly version: string;
  /** Digest of its configuration, so that an audit can tell two stacks of the same names apart. */
  readonly configDigest: string;
  readonly handle: (next: Next) => LayerHandler<Context>;
  /** Tools that the layer runs: the requests within it offer them to the model. */
  readonly tools?: readonly Tool<unknown, unknown, Context>[];
  /** The tool loop is the engine itself: what it does is not middleware. */
  readonly isEngine?: true;
};

/** What a layer does outside; its answer is kept in the log. The key is the same for every attempt at it. */
export type EffectWork<Value extends JsonValue = JsonValue> = (ctx: {
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
}) => Value | Promise<Value>;

export type EffectOptions = {
  /** Doing it twice with one key does what doing it once does: only then it is ever done again. */
  readonly idempotent?: boolean;
  /** By default as long as a layer may work. */
  readonly timeoutMs?: number;
};

/** What a layer is given besides the Turn. Time, ids and randomness come from the log, so that a replay is the same. */
export type LayerContext<Context = unknown> = {
  /** What the caller of the run gave as its `context`; it is recorded nowhere. Undefined where none was given. */
  readonly context: Context;
  readonly conversationId: ConversationId;
  readonly runId: string;
  readonly frame: string;
  /** The settings that the request will carry. */
  readonly settings: Settings;
  readonly signal: AbortSignal;
  /** Milliseconds since 1970, of the newest event delivered to the stack. */
  now(): number;
  /** A new id, the same in a replay. */
  id(): string;
  /** A number in [0, 1), the same in a replay. */
  random(): number;
  /** Says which Turn the next one handed on descends from, where the layer drops every block of a call. */
  from(turn: Turn): void;
  /** Adds to the instructions of the requests made within this call: outside the context, so that the chain holds. */
  instructions(text: string): void;
  /** Blocks of the Turn that no server has seen yet. */
  readonly unsent: ReadonlySet<BlockId>;
  /** Runs once a server has answered a request made within this call. */
  onAcknowledged(work: () => unknown): void;
  /** Runs a call that a response of this run made, unless it has run; gives the block that answers it. */
  tool(call: Block): Promise<Block>;
  /** Whether a response of this run made the call: a call that a layer wrote is never run. */
  canRun(call: Block): boolean;
  /** Whether the request will offer a tool of this name to the model, run by this engine or not. */
  offers(tool: string): boolean;
  /**
   * Reaches outside, once: for caches, retrieval, moderation, clocks. What it gives is kept in the log, as JSON, and answers
   * when the run is taken up again or replayed: the layer gets it as JSON too, whether it is done now or was done before (a
   * Date as its text). It is done again only if it is `idempotent`; else people are asked.
   *
   * Its work asks nothing of the run (`next`, `ctx.infer`, another effect): a replay does not do it again.
   *
   * @throws {EffectFailedError} when it failed, or gave what is no JSON.
   */
  effect<Value extends JsonValue>(name: string, work: EffectWork<Value>, options?: EffectOptions): Promise<Value>;
  /**
   * Asks the model beside the conversation: for a summary, a judgement. It is recorded, costs and is answered from the log as
   * every request is, and is in no Turn: the model's answer is the layer's to use. It knows none of the engine's tools and of
   * the run's settings; what is not said here is asked as the provider is set to.
   *
   *     const { output } = await ctx.infer({ input: turn.append(user("Is this safe?")), model: "small", output: verdict });
   *
   * @throws {ProviderError} when the provider refused or failed.
   * @throws {TypeError | RangeError} for an option that is none, and a value that it cannot have.
   */
  infer<Output = undefined>(asked: AsideRequest<Output>): Promise<AsideAnswer<Output>>;
  /** Whether what happens now happened before, and is answered from the log. */
  readonly replaying: boolean;
  /** Whether the run asks for a summary and no answer: what `next` gives is the Turn made shorter, and nothing new. */
  readonly summarising: boolean;
};

/** How a layer is known. Its `config` tells two stacks of the same names apart. */
export type LayerIdentity = { readonly name: string; readonly version: string; readonly config?: JsonValue };

const identityOptions = optionsOf<LayerIdentity>({ name: anything, version: anything, config: anything });

/**
 * Names a layer. The first layer listed is the outermost.
 *
 * @throws {TypeError} for a name or a version that is none, a config that is no JSON, and what is no function of `next`.
 */
export function defineMiddleware<Context = unknown>(
  description: LayerIdentity,
  handle: (next: Next) => LayerHandler<Context>,
): Layer<Context> {
  if (!isJsonObject(description))
    throw new TypeError(
      `defineMiddleware takes the layer's name first, not ${kindOf(description)}: write defineMiddleware({ name, version }, ${howHandled})`,
    );
  identityOptions.check("defineMiddleware", description);
  const { name, version, config = null } = description;
  checkLayerName("defineMiddleware", name, version);
  checkJson("defineMiddleware: config", config);
  const given: unknown = handle;
  if (typeof given === "function" && given.length < 2)
    return { name, version, configDigest: sha256Hex(canonicalJson(config)), handle };
  const what = typeof given === "function" ? `a function of ${given.length} parameters` : kindOf(given);
  throw new TypeError(`defineMiddleware: '${name}' is ${what}: write ${howHandled}`);
}

const howHandled = "(next) => async (turn, ctx) => next(turn)";

export const describeLayer = ({ name, version, configDigest }: Omit<Layer, "handle">): LayerDescription => ({
  name,
  version,
  configDigest,
});

export type LayerErrorCode =
  | ("empty-turn" | "not-a-turn" | "not-a-handler")
  | ("concurrent-next" | "late-next" | "next-not-awaited" | "layer-timeout");

/** A layer did what no layer may: it names the layer. Recorded as the failure of the run. */
export class LayerError extends TurnlogError<LayerErrorCode> {
  override readonly name = "LayerError";
  readonly layer: string;

  constructor(code: LayerErrorCode, layer: string, what: string) {
    super(code, `layer ${layer} ${what}`);
    this.layer = layer;
  }
}

/** Blocks that a call of `next` brought: in its result, and not in what was passed. */
export function broughtBy(passed: Turn, result: Turn): readonly Block[] {
  const shared = passed.commonPrefixLength(result);
  const known = new Set(passed.after(shared).map((block) => block.id));
  return result.after(shared).filter((block) => !known.has(block.id));
}

/** @throws {TypeError} for what is no layer, or one that could not be recorded or named by anybody who looks. */
export function checkLayer(where: string, layer: unknown): void {
  const make = "defineMiddleware({ name, version }, (next) => async (turn, ctx) => …)";
  if (typeof layer === "function")
    throw new TypeError(`${where} is a function: call it if it makes a layer, or make one of it with ${make}`);
  const { name, version, handle } = isJsonObject(layer) ? layer : {};
  if (typeof handle !== "function" || typeof name !== "string" || typeof version !== "string")
    throw new TypeError(`${where} is ${kindOf(layer)}, and no layer: make one with ${make}`);
  checkLayerName(where, name, version);
}

/** @throws {TypeError} for a name that is empty, and for a version whose major part cannot be compared. */
function checkLayerName(where: string, name: unknown, version: unknown): void {
  const named = checkText(`${where}: name`, name, "the name that the log tells the layer by");
  if (typeof version === "string" && /^\d+(\.\d+){0,2}([-+][\w.+-]+)?$/.test(version)) return;
  const given = typeof version === "string" && version !== "" ? `'${version}'` : kindOf(version);
  throw new TypeError(`${where}: the version of '${named}' is ${given}: give one such as "1.0.0"`);
}

/** Whether a layer gave what is called with the Turn. */
export const isHandler = (given: unknown): given is LayerHandler => typeof given === "function";

/** What a layer gives for `next` where it should give a function of the Turn. */
export function noHandler(name: string, given: unknown): LayerError {
  // It may have begun its work without `next`, and fail at it.
  unwatched(given);
  const what = `gave ${kindOf(given)} for next, and not a function: write ${howHandled}`;
  return new LayerError("not-a-handler", name, what);
}

/** What a layer hands on that is no Turn: inwards by `next`, or outwards by returning it. */
export function noTurn(name: string, direction: "request" | "response", handed: unknown): LayerError {
  const did = direction === "request" ? "called next with" : "returned";
  const instead = direction === "request" ? "write next(turn)" : "return what next(turn) gives";
  return new LayerError("not-a-turn", name, `${did} ${kindOf(handed)}, and not a Turn: ${instead}`);
}

/**
 * Why a stack cannot go on with what another began, in words; null where it can. Layers are the same by name and major
 * version: a minor one promises to do the same with what was recorded.
 */
export function stackDifference(
  recorded: readonly Pick<LayerDescription, "name" | "version">[],
  given: readonly Pick<LayerDescription, "name" | "version">[],
): string | null {
  const before = recorded.map(nameOf);
  const now = given.map(nameOf);
  const missing = before.filter((name) => !now.includes(name));
  const added = now.filter((name) => !before.includes(name));
  if (missing.length > 0) {
    const names = new Set(missing.map((name) => name.slice(0, name.lastIndexOf("@"))));
    const instead = given.filter(({ name }) => names.has(name)).map(nameOf);
    return `its stack had ${missing.join(", ")}, and this one has ${instead.join(", ") || "not"}`;
  }
  if (added.length > 0) return `its stack did not have ${added.join(", ")}`;
  return before.join(" ") === now.join(" ") ? null : `its layers stood in another order: ${before.join(" > ")}`;
}

const nameOf = ({ name, version }: Pick<LayerDescription, "name" | "version">): string =>
  `${name}@${version.split(".")[0] ?? version}`;
