import { canonicalJson } from "../../base/canonical-json.ts";
import { checkJson } from "../../base/frozen-json.ts";
import { isJsonObject, type JsonValue } from "../../base/json.ts";
import { anything, checkFunction, checkText, kindOf, optionsOf } from "../../base/options.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { unwatched } from "../../base/unwatched.ts";
import type { Block } from "../../domain/block.ts";
import type { BlockNames } from "../../domain/block-names.ts";
import type { LayerDescription } from "../../domain/events/run-events.ts";
import type { BlockId, ConversationId } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import type { AsideAnswer, AsideRequest } from "./aside.ts";
import type { Settings } from "./codec.ts";
import type { DeltaRule } from "./deltas.ts";
import type { Tool } from "./tool.ts";

/** Passes a Turn inwards and resolves to the resulting Turn, with the answer. */
export type Next = (turn: Turn) => Promise<Turn>;

/** Handles one call of a layer. */
export type LayerHandler<Context = unknown> = (turn: Turn, ctx: LayerContext<Context>) => Promise<Turn>;

/**
 * Changes a question that a layer asks the model outside the conversation: the Turn that is asked, and the text of the answer. It must
 * depend on its arguments only, because a re-execution calls it again.
 */
export type AsideView = (
  turn: Turn,
  place: { readonly conversationId: ConversationId; readonly runId: string },
) => { readonly turn: Turn; readonly answer?: (text: string) => string };

/** A layer of the stack, as a function of what is inside it. */
export type Layer<Context = unknown> = {
  readonly name: string;
  /** Semantic version: recovery requires the same major version. */
  readonly version: string;
  /** Digest of its configuration, so that an audit can distinguish two stacks with the same names. */
  readonly configDigest: string;
  readonly handle: (next: Next) => LayerHandler<Context>;
  /** What it changes of the deltas of requests inside it, for those who watch the run. */
  readonly deltas?: DeltaRule<Context>;
  /** Tools that the layer runs: the requests inside it offer them to the model. */
  readonly tools?: readonly Tool<unknown, unknown, Context>[];
  /** Changes what layers outside of this one ask the model with `ctx.infer`, and the answers that they get. */
  readonly asides?: AsideView;
  /** Set for the tool loop, which is part of the engine and not middleware. */
  readonly isEngine?: true;
};

/** Work outside the run; its result is kept in the log. The key is the same for every attempt. */
export type EffectWork<Value extends JsonValue = JsonValue> = (ctx: {
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
}) => Value | Promise<Value>;

export type EffectOptions = {
  /** Whether repeating the work with the same key has no further effect: only then is it ever repeated. */
  readonly idempotent?: boolean;
  /** By default the time limit of a layer's own work. */
  readonly timeoutMs?: number;
};

/** What a layer receives besides the Turn. Time, ids and random numbers come from the log, so that a replay is the same. */
export type LayerContext<Context = unknown> = {
  /** The `context` that the caller of the run gave, or undefined. It is never recorded. */
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
  /** Declares the Turn that the next one handed on descends from, for a layer that drops every block of a call. */
  from(turn: Turn): void;
  /** Adds to the instructions of the requests made within this call. Instructions are outside the context, so chaining continues. */
  instructions(text: string): void;
  /** Blocks of the Turn that no server has seen yet. */
  readonly unsent: ReadonlySet<BlockId>;
  /** Calls `work` once a server has answered a request made within this call. */
  onAcknowledged(work: () => unknown): void;
  /** Runs a call that an answer of this run made, unless it has already run; resolves to the block that answers it. */
  tool(call: Block): Promise<Block>;
  /** Whether an answer of this run made the call: calls that a layer wrote are never run. */
  canRun(call: Block): boolean;
  /** Whether the request will offer a tool of this name to the model, even one that another party runs. */
  offers(tool: string): boolean;
  /**
   * Does work outside the run once: caches, retrieval, moderation, clocks. The log keeps the result as JSON and answers with it
   * when the run is resumed or replayed, so the layer always gets JSON: a Date arrives as text. Interrupted work is repeated only
   * if it is `idempotent`; otherwise a person decides.
   *
   * The work must not use the run (`next`, `ctx.infer`, another effect), because a replay does not repeat it.
   *
   * @throws {EffectFailedError} if the work failed, or its result is not JSON.
   */
  effect<Value extends JsonValue>(name: string, work: EffectWork<Value>, options?: EffectOptions): Promise<Value>;
  /**
   * Asks the model outside the conversation, for example for a summary or a judgement. The request is recorded, costs tokens and is
   * answered from the log like every other, but its answer enters no Turn. It uses neither the engine's tools nor the run's
   * settings; anything not given here is as the provider is configured.
   *
   *     const { output } = await ctx.infer({ input: turn.append(user("Is this safe?")), model: "small", output: verdict });
   *
   * @throws {ProviderError} if the provider rejected the request or failed.
   * @throws {TypeError | RangeError} if an option is unknown or invalid.
   */
  infer<Output = undefined>(asked: AsideRequest<Output>): Promise<AsideAnswer<Output>>;
  /**
   * Shows data to those who watch the run, as a `data` part: progress, sources, a preview. It is not recorded, so nothing is shown again when
   * a run is resumed, as far as its log goes, or replayed.
   *
   * @throws {TypeError} if the name is empty, or the data is not JSON.
   */
  emit(name: string, data: JsonValue): void;
  /** Whether the current call happened before and is answered from the log. */
  readonly replaying: boolean;
  /** Whether the run asks for a summary instead of an answer: `next` then returns a shortened Turn, without new blocks. */
  readonly summarising: boolean;
};

/** A layer's name, version and configuration. The `config` distinguishes two stacks with the same names. */
export type LayerIdentity = { readonly name: string; readonly version: string; readonly config?: JsonValue };

/** What a layer does besides handling its calls: to what other layers ask, and to the texts that readers see while they arrive. */
export type LayerDefinition<Context = unknown> = LayerIdentity & Pick<Layer<Context>, "asides" | "deltas">;

const layerOptions = optionsOf<LayerDefinition>({
  ...{ name: anything, version: anything, config: anything },
  ...{ asides: checkFunction, deltas: checkFunction },
});

/**
 * Defines a layer.
 *
 * @throws {TypeError} if the name or version is invalid, the config is not JSON, or the handler is not a function of `next`.
 */
export function defineMiddleware<Context = unknown>(
  description: LayerDefinition<Context>,
  handle: (next: Next) => LayerHandler<Context>,
): Layer<Context> {
  if (!isJsonObject(description))
    throw new TypeError(
      `defineMiddleware takes the layer's name first, not ${kindOf(description)}: write defineMiddleware({ name, version }, ${howHandled})`,
    );
  layerOptions.check("defineMiddleware", description);
  const { name, version, config = null, asides, deltas } = description;
  checkLayerName("defineMiddleware", name, version);
  checkJson("defineMiddleware: config", config);
  const given: unknown = handle;
  if (typeof given === "function" && given.length < 2)
    return {
      ...{ name, version, configDigest: sha256Hex(canonicalJson(config)), handle },
      ...(asides === undefined ? {} : { asides }),
      ...(deltas === undefined ? {} : { deltas }),
    };
  const what = typeof given === "function" ? `a function of ${given.length} parameters` : kindOf(given);
  throw new TypeError(`defineMiddleware: '${name}' is ${what}: write ${howHandled}`);
}

const howHandled = "(next) => async (turn, ctx) => next(turn)";

/** The layers of a stack as its runs record them. */
export const describeLayers = (layers: readonly Omit<Layer, "handle">[], names: BlockNames): LayerDescription[] =>
  layers.map(({ name, version, configDigest }) => ({ name, version, configDigest: names.nameOfConfig(configDigest) }));

export type LayerErrorCode =
  | ("empty-turn" | "not-a-turn" | "not-a-handler")
  | ("concurrent-next" | "late-next" | "next-not-awaited" | "layer-timeout");

/** A layer broke the rules for layers; the message names it. Recorded as the failure of the run. */
export class LayerError extends TurnlogError<LayerErrorCode> {
  override readonly name = "LayerError";
  readonly layer: string;

  constructor(code: LayerErrorCode, layer: string, what: string) {
    super(code, `layer ${layer} ${what}`);
    this.layer = layer;
  }
}

/** Blocks that a call of `next` added: they are in its result, but not in the Turn that was passed. */
export function broughtBy(passed: Turn, result: Turn): readonly Block[] {
  const shared = passed.commonPrefixLength(result);
  const known = new Set(passed.after(shared).map((block) => block.id));
  return result.after(shared).filter((block) => !known.has(block.id));
}

/** @throws {TypeError} if it is not a layer, or has no name and version that can be recorded. */
export function checkLayer(where: string, layer: unknown): void {
  const make = "defineMiddleware({ name, version }, (next) => async (turn, ctx) => …)";
  if (typeof layer === "function")
    throw new TypeError(`${where} is a function: call it if it returns a layer, or turn it into one with ${make}`);
  const { name, version, handle } = isJsonObject(layer) ? layer : {};
  if (typeof handle !== "function" || typeof name !== "string" || typeof version !== "string")
    throw new TypeError(`${where} is ${kindOf(layer)}, not a layer: make one with ${make}`);
  checkLayerName(where, name, version);
}

/** @throws {TypeError} if the name is empty, or the major version cannot be compared. */
function checkLayerName(where: string, name: unknown, version: unknown): void {
  const named = checkText(`${where}: name`, name, "the layer's name in the log");
  if (typeof version === "string" && /^\d+(\.\d+){0,2}([-+][\w.+-]+)?$/.test(version)) return;
  const given = typeof version === "string" && version !== "" ? `'${version}'` : kindOf(version);
  throw new TypeError(`${where}: the version of '${named}' is ${given}: give one such as "1.0.0"`);
}

/** Whether a layer returned a handler. */
export const isHandler = (given: unknown): given is LayerHandler => typeof given === "function";

/** A layer returned something other than a function of the Turn for `next`. */
export function noHandler(name: string, given: unknown): LayerError {
  // It may have started work without calling `next`, and that work may reject.
  unwatched(given);
  const what = `returned ${kindOf(given)} for next, not a function: write ${howHandled}`;
  return new LayerError("not-a-handler", name, what);
}

/** A layer passed something other than a Turn, either inwards to `next` or outwards as its result. */
export function noTurn(name: string, direction: "request" | "response", handed: unknown): LayerError {
  const did = direction === "request" ? "called next with" : "returned";
  const instead = direction === "request" ? "write next(turn)" : "return the result of next(turn)";
  return new LayerError("not-a-turn", name, `${did} ${kindOf(handed)}, not a Turn: ${instead}`);
}

/**
 * Why this stack cannot resume a run that another one began, or null if it can. Layers match by name and major version: a minor
 * version promises to treat recorded events in the same way.
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
