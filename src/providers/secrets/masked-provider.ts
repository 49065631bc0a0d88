import { inspect } from "node:util";
import { isJsonList, isJsonObject, type JsonObject, type JsonValue, setMember } from "../../base/json.ts";
import { anything, kindOf, optionsOf } from "../../base/options.ts";
import { prototypeOf, withMembers } from "../../base/with-members.ts";
import type {
  InferenceRequest,
  InferenceResponse,
  Provider,
  StreamDelta,
  TextDelta,
} from "../../engine/ports/provider.ts";
import { ProviderError } from "../../engine/ports/provider-error.ts";
import type { StoredChain } from "../../engine/ports/stored-responses.ts";
import type { Secrets } from "../settings/connection-options.ts";
import { currentMask, type Mask } from "./mask.ts";
import { rememberedKeys } from "./remembered-keys.ts";
import type { Masked } from "./secret-spans.ts";
import { checkSecrets, filledRequest, maskable } from "./secret-values.ts";

export type MaskedOptions = {
  /**
   * Values of 8 characters or more, by name: those of `secret("NAME")` in the provider's settings, and any other secret in its requests,
   * such as a key. Give a function for values that change; turnlog calls it whenever it looks for them.
   */
  readonly secrets: Secrets | (() => Secrets);
};

const maskedOptions = optionsOf<MaskedOptions>({ secrets: anything });

/**
 * Makes your own provider protect secrets the way turnlog's do: `secret("NAME")` in its settings is sent as its value and recorded as its
 * name, and each value is masked as `[secret NAME]` in all that the provider returns: answers, parts of answers, ids and errors.
 *
 * @example
 * const provider = masked(myProvider(url), { secrets: { KEY: process.env.MY_KEY } });
 * @throws {ProviderSettingsError} if a secret has fewer than 8 characters, or the settings name one that `secrets` lacks.
 * @throws {TypeError} if the provider is not a provider, or an option is unknown.
 */
export function masked<Given extends Provider>(provider: Given, options: MaskedOptions): Given {
  // Callers may not use types.
  const given: unknown = provider;
  if (!isJsonObject(given) || typeof given["infer"] !== "function")
    throw new TypeError(`masked takes a provider, not ${kindOf(given)}`);
  maskedOptions.check("masked", options);
  const { secrets } = options;
  if (typeof secrets === "function") {
    const keys = rememberedKeys();
    return maskedProvider(provider, () => keys.with(maskable(secrets())), secrets);
  }
  if (!isJsonObject(secrets)) throw new TypeError(`masked: secrets is ${kindOf(secrets)}: give { NAME: value }`);
  checkSecrets(provider.settings, secrets);
  const lasting = maskable(secrets);
  return maskedProvider(
    provider,
    () => lasting,
    () => secrets,
  );
}

/**
 * The same provider with all its members, without secrets in its results: calls with secrets in their settings get the values, and the
 * result of every call is masked.
 */
export function maskedProvider<Given extends Provider>(
  provider: Given,
  masks: () => Masked,
  secrets: () => Secrets = () => ({}),
): Given {
  const own: Partial<Provider> = {
    infer: (request) => saying(masks, (mask) => infer(provider, filledRequest(request, secrets()), mask)),
    waitFor: (responseId, options) =>
      saying(masks, async (mask) => {
        if (provider.waitFor === undefined) throw new TypeError("the provider cannot wait for responses");
        const parts = new HeldParts(options.onDelta ?? (() => undefined), mask);
        const answer = await provider.waitFor(responseId, { ...options, onDelta: (delta) => parts.take(delta) });
        parts.tellRest();
        return maskedResponse(answer, options.settings, mask);
      }),
  };
  return withMembers(provider, (name, value) => {
    if (name === "conversations" && isJsonObject(value))
      return withMembers(value, (_, each) => saidBy(value, each, masks));
    return (Object.hasOwn(own, name) ? Reflect.get(own, name) : undefined) ?? saidBy(provider, value, masks);
  });
}

/** Does the work of a call; masks its error with the secrets that are known by then. */
export async function saying<T>(masks: () => Masked, work: (mask: Mask) => Promise<T>): Promise<T> {
  const mask = currentMask(masks);
  try {
    return await work(mask);
  } catch (error) {
    throw maskedError(error, mask);
  }
}

/** Wraps a function so that its promise's value or error is masked; other members stay as they are. */
function saidBy(owner: object, member: unknown, masks: () => Masked): unknown {
  if (typeof member !== "function") return member;
  return (...given: readonly unknown[]): unknown => {
    const result: unknown = Reflect.apply(member, owner, given);
    return result instanceof Promise ? saying(masks, async (mask) => maskedValue(await result, mask)) : result;
  };
}

function maskedValue(value: unknown, mask: Mask): unknown {
  if (isStoredChain(value)) return maskedChain(value, mask);
  const isPlain = isJsonObject(value) && [Object.prototype, null].includes(prototypeOf(value));
  return typeof value === "string" || isJsonList(value) || isPlain ? mask.json(value) : value;
}

const isStoredChain = (value: unknown): value is StoredChain =>
  isJsonObject(value) && isJsonList(value["responses"]) && "before" in value;

function maskedChain({ responses, before }: StoredChain, mask: Mask): StoredChain {
  const masked = responses.map(({ id, input, response, settings }) => {
    return { id, input: mask.json(input), response: mask.json(response), settings };
  });
  return { responses: masked, before, ...(mask.hasMasked ? { isMasked: true } : {}) };
}

async function infer(provider: Provider, request: InferenceRequest, mask: Mask): Promise<InferenceResponse> {
  const parts = new HeldParts(request.onDelta, mask);
  const answer = await provider.infer({
    ...request,
    onDelta: (delta) => {
      parts.take(delta);
    },
    onStarted: async (responseId, { response, ...told } = {}) =>
      request.onStarted?.(mask.text(responseId), {
        ...told,
        ...(response === undefined ? {} : { response: maskedMembers(response, request.settings, mask) }),
      }),
  });
  parts.tellRest();
  return maskedResponse(answer, request.settings, mask);
}

/** Passes on the parts of an answer; holds back an end that may be the beginning of a secret. */
class HeldParts {
  readonly #onDelta: (delta: StreamDelta) => void;
  readonly #mask: Mask;
  /** The held end of each text, by item and kind of text. */
  readonly #held = new Map<string, TextDelta>();

  constructor(onDelta: (delta: StreamDelta) => void, mask: Mask) {
    this.#onDelta = onDelta;
    this.#mask = mask;
  }

  take(delta: StreamDelta): void {
    if (delta.type === "usage") {
      const { reported } = delta;
      this.#onDelta(reported === undefined ? delta : { ...delta, reported: this.#mask.json(reported) });
      return;
    }
    if (delta.type === "item-start") {
      const { callId, name } = delta;
      this.#onDelta({
        ...delta,
        ...(callId === undefined ? {} : { callId: this.#mask.text(callId) }),
        ...(name === undefined ? {} : { name: this.#mask.text(name) }),
      });
      return;
    }
    if (delta.type === "item-done") {
      this.#tellHeld(delta.outputIndex);
      this.#onDelta({ ...delta, item: this.#mask.json(delta.item) });
      return;
    }
    const key = `${delta.outputIndex} ${delta.type}`;
    const text = (this.#held.get(key)?.text ?? "") + delta.text;
    const length = text.length - this.#mask.heldBack(text);
    this.#held.set(key, { ...delta, text: text.slice(length) });
    this.#tell({ ...delta, text: text.slice(0, length) });
  }

  /** Passes on the rest of a complete answer: the held ends began no secret. */
  tellRest(): void {
    this.#tellHeld(null);
  }

  #tellHeld(outputIndex: number | null): void {
    for (const [key, delta] of this.#held) {
      if (outputIndex !== null && delta.outputIndex !== outputIndex) continue;
      this.#held.delete(key);
      this.#tell(delta);
    }
  }

  #tell(delta: TextDelta): void {
    if (delta.text !== "") this.#onDelta({ ...delta, text: this.#mask.text(delta.text) });
  }
}

/** Members that repeat settings get the names of their secrets again; the server read the values, as with every request. */
export function maskedResponse(answer: InferenceResponse, settings: JsonObject, mask: Mask): InferenceResponse {
  const masked = maskedMembers(answer.response, settings, mask);
  const requestId = typeof answer.requestId === "string" ? mask.text(answer.requestId) : answer.requestId;
  const told = {
    response: masked,
    ...(requestId === undefined ? {} : { requestId }),
    ...(answer.lives === undefined ? {} : { lives: answer.lives }),
  };
  return mask.hasMasked ? { ...told, isMasked: true } : told;
}

function maskedMembers(response: JsonObject, settings: JsonObject, mask: Mask): JsonObject {
  const masked: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(response)) {
    if (value === undefined) continue;
    setMember(masked, mask.text(name), mask.json(value, { isEcho: Object.hasOwn(settings, name) }));
  }
  return masked;
}

/** The same error without secrets in its message and causes; the same object if it has none. */
function maskedError(error: unknown, mask: Mask): unknown {
  if (error instanceof ProviderError) return maskedFailure(error, mask);
  return error instanceof Error ? maskedCause(error, mask) : maskedThrown(error, mask);
}

/** Any value may be thrown or be a cause: an object that holds a secret is replaced by its printed form. */
function maskedThrown(thrown: unknown, mask: Mask): unknown {
  if (typeof thrown === "string") return mask.cutText(thrown);
  if (typeof thrown !== "object" || thrown === null) return thrown;
  const shown = inspect(thrown, shownWhole);
  const masked = mask.text(shown);
  return masked === shown ? thrown : masked;
}

/** The texts of a server's error, and the items of a stream that was cut off, may end within a secret. */
function maskedFailure(error: ProviderError, mask: Mask): ProviderError {
  const { kind, outcome, status, retryAfterMs, shouldRetry, requestId, contentFilters } = error;
  const told = {
    message: mask.cutText(error.message),
    providerCode: error.providerCode === null ? null : mask.cutText(error.providerCode),
    param: error.param === null ? null : mask.cutText(error.param),
    requestId: requestId === null ? null : mask.cutText(requestId),
    partial: mask.json(error.partial, { isCut: true }),
    body: mask.json(error.body, { isCut: true }),
    cause: maskedError(error.cause, mask),
  };
  if (!mask.hasMasked && told.cause === error.cause) return error;
  const masked = new ProviderError(told.message, {
    ...{ kind, outcome, status, retryAfterMs, shouldRetry, contentFilters },
    ...told,
  });
  return withStackOf(error, masked, mask);
}

/** Printing an error shows its members too, so an error that holds a secret keeps only its words. */
function maskedCause(error: Error, mask: Mask): Error {
  const shown = inspect(error, shownWhole);
  if (mask.text(shown) === shown && mask.cutText(error.message) === error.message) return error;
  const masked = new Error(mask.cutText(error.message), { cause: maskedError(error.cause, mask) });
  masked.name = mask.text(error.name);
  return withStackOf(error, masked, mask);
}

/** A stack begins with the message. */
function withStackOf<Masked extends Error>({ message, stack }: Error, masked: Masked, mask: Mask): Masked {
  if (stack !== undefined) masked.stack = mask.text(stack.replace(message, () => masked.message));
  return masked;
}

const shownWhole = { depth: 20, maxStringLength: null, maxArrayLength: null } as const;
