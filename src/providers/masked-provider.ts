import { type JsonObject, type JsonValue, setMember } from "../base/json.ts";
import type { InferenceRequest, InferenceResponse, Provider, StreamDelta } from "../engine/stack/provider.ts";
import type { StoredChain } from "../engine/stack/stored-responses.ts";
import { currentMask, type Mask } from "./mask.ts";
import { maskedError } from "./masked-error.ts";
import type { OpenaiResponses } from "./openai-options.ts";
import type { Masked } from "./secret-spans.ts";
import type { InputItemsPage } from "./stored-responses.ts";

/** The same provider, of whose answers, parts of them and errors nobody reads a secret. It does nothing but infer. */
export function maskedInference(provider: Provider, masked: () => Masked): Provider {
  return { ...provider, infer: (request) => saying(masked, (mask) => infer(provider, request, mask)) };
}

async function saying<T>(masked: () => Masked, work: (mask: Mask) => Promise<T>): Promise<T> {
  const mask = currentMask(masked);
  try {
    return await work(mask);
  } catch (error) {
    throw maskedError(error, mask);
  }
}

/** The same for the Responses API, with all that its endpoint can be asked beside inferences. */
export function maskedProvider(provider: OpenaiResponses, masked: () => Masked): OpenaiResponses {
  const { conversations } = provider;
  return {
    ...provider,
    ...(provider.connect === undefined
      ? {}
      : { connect: (...given) => saying(masked, async () => provider.connect?.(...given)) }),
    infer: (request) => saying(masked, (mask) => infer(provider, request, mask)),
    waitFor: (responseId, options) =>
      saying(masked, async (mask) => {
        const parts = new HeldParts(options.onDelta ?? (() => undefined), mask);
        const answer = await provider.waitFor(responseId, { ...options, onDelta: (delta) => parts.take(delta) });
        parts.tellRest();
        return maskedResponse(answer, options.settings, mask);
      }),
    cancel: (...given) => saying(masked, () => provider.cancel(...given)),
    retrieve: (...given) => saying(masked, async (mask) => mask.json(await provider.retrieve(...given))),
    delete: (...given) => saying(masked, () => provider.delete(...given)),
    deleteConversation: (...given) => saying(masked, () => provider.deleteConversation(...given)),
    inputItems: (...given) => saying(masked, async (mask) => maskedPage(await provider.inputItems(...given), mask)),
    conversationItems: (...given) =>
      saying(masked, async (mask) => maskedPage(await provider.conversationItems(...given), mask)),
    storedChain: (...given) => saying(masked, async (mask) => maskedChain(await provider.storedChain(...given), mask)),
    storedConversation: (...given) =>
      saying(masked, async (mask) => maskedChain(await provider.storedConversation(...given), mask)),
    countInputTokens: (...given) => saying(masked, () => provider.countInputTokens(...given)),
    compact: (...given) => saying(masked, async (mask) => mask.json(await provider.compact(...given))),
    ...(conversations === undefined
      ? {}
      : {
          conversations: {
            create: (...given) => saying(masked, () => conversations.create(...given)),
            newestItems: (...given) => saying(masked, () => conversations.newestItems(...given)),
            deleteItem: (...given) => saying(masked, () => conversations.deleteItem(...given)),
          },
        }),
  };
}

const maskedPage = ({ items, ...page }: InputItemsPage, mask: Mask): InputItemsPage => ({
  ...page,
  items: items.map((item) => mask.json(item)),
});

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

/** What comes back of the settings is named as it was in them; the server read its value there, as it does with each request. */
function maskedResponse(answer: InferenceResponse, settings: JsonObject, mask: Mask): InferenceResponse {
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

type TextDelta = Exclude<StreamDelta, { readonly type: "item-done" | "usage" }>;

/** The parts of an answer, each told once no secret can begin in it that ends in a later one. */
class HeldParts {
  readonly #onDelta: (delta: StreamDelta) => void;
  readonly #mask: Mask;
  /** The end of each text that was not told yet, by item and kind of text. */
  readonly #held = new Map<string, TextDelta>();

  constructor(onDelta: (delta: StreamDelta) => void, mask: Mask) {
    this.#onDelta = onDelta;
    this.#mask = mask;
  }

  take(delta: StreamDelta): void {
    if (delta.type === "usage") {
      this.#onDelta(delta);
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

  /** The answer is whole: what was held back was the beginning of no secret. */
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
