import {
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
  setMember,
} from "../../base/json.ts";
import type { StreamDelta } from "../../engine/ports/provider.ts";
import type { ProviderError } from "../../engine/ports/provider-error.ts";
import type { AnswerForm, AnswerStream, StreamedAnswer } from "../answers/answer-form.ts";
import { countSaid } from "../answers/server-said.ts";
import { providerError, withPartial } from "../failures/classify-error.ts";
import { answerLimits } from "../settings/answer-limits.ts";
import { tokensIn } from "./chat-answer.ts";
import { GrownChoice } from "./grown-choice.ts";

/** Assembles a streamed completion. The members of its choices grow; other members of the chunks are replaced by the newest value. */
export class ChatStream implements AnswerStream {
  readonly #onDelta: (delta: StreamDelta) => void;
  readonly #itemBytes: number;
  readonly #choices = new Map<number, GrownChoice>();
  readonly #response: Record<string, JsonValue> = {};
  #textBytes = 0;

  /** @param itemBytes - The limit for all texts of the answer together. */
  constructor(onDelta: (delta: StreamDelta) => void, itemBytes = Number.POSITIVE_INFINITY) {
    this.#onDelta = onDelta;
    this.#itemBytes = itemBytes;
  }

  /** The completion as it would be without streaming; null if the server has not said how it ended. Only usage comes after that. */
  end(): JsonObject | null {
    if (this.#choices.get(0)?.isFinished !== true) return null;
    const choices = [...this.#choices]
      .toSorted(([left], [right]) => left - right)
      .map(([, choice]) => choice.toObject());
    return { ...usageOfGroq(this.#response), ...this.#response, choices };
  }

  get isTooLarge(): boolean {
    return this.#textBytes > this.#itemBytes;
  }

  get partial(): readonly JsonObject[] {
    const said = this.#choices.get(0)?.said ?? {};
    return Object.keys(said).length === 0 ? [] : [{ role: "assistant", ...said }];
  }

  /**
   * Takes a chunk. Returns null always, because the last chunk looks like any other.
   *
   * @throws {ProviderError} if the chunk reports an error.
   */
  take(_: string | null, chunk: JsonObject): null {
    if ((chunk["error"] ?? null) !== null) throw this.failure(chunk);
    const { choices, ...members } = chunk;
    const { usage: reported } = members;
    if (isJsonObject(reported)) this.#onDelta({ type: "usage", usage: tokensIn(reported), reported });
    for (const [name, value] of Object.entries(members))
      if (value !== undefined && value !== null)
        setMember(
          this.#response,
          name,
          name === "object" && value === "chat.completion.chunk" ? "chat.completion" : value,
        );
    for (const choice of objectsOf(choices)) this.#choice(countSaid(choice["index"])).take(choice);
    return null;
  }

  /** The error that the server reported in its stream, with the answer so far. */
  failure(body: JsonValue): ProviderError {
    const error = providerError({ body });
    return this.partial.length === 0 ? error : withPartial(error, this.partial);
  }

  /** Only the deltas of the first choice are passed on, because it is the answer. */
  #choice(index: number): GrownChoice {
    const known = this.#choices.get(index);
    if (known !== undefined) return known;
    const choice = new GrownChoice((delta) => {
      if ("text" in delta) this.#textBytes += delta.text.length;
      if (index === 0) this.#onDelta(delta);
    });
    this.#choices.set(index, choice);
    return choice;
  }
}

/** Groq reports the usage of a stream in a member of its own. */
function usageOfGroq({ x_groq: own }: JsonObject): JsonObject {
  const usage = objectOf(own)["usage"];
  return usage === undefined ? {} : { usage };
}

/**
 * Assembles a streamed completion for `postStream`, from a server with a dialect of Chat Completions. A completion that comes whole is
 * taken as it is.
 */
export function chatStream(onDelta: (delta: StreamDelta) => void): StreamedAnswer {
  const stream = new ChatStream(onDelta, answerLimits().itemBytes);
  return {
    take(event, chunk) {
      if (messagesIn(chunk).length === 0) return stream.take(event, chunk);
      completionForm.tell(chunk, onDelta);
      return chunk;
    },
    end: () => stream.end(),
    get partial() {
      return stream.partial;
    },
    get isTooLarge() {
      return stream.isTooLarge;
    },
  };
}

/** A completion that is one JSON object. */
export const completionForm: AnswerForm = {
  isAnswer: ({ choices }) => isJsonList(choices),
  itemsOf: messagesIn,
  hasFailed: ({ error }) => (error ?? null) !== null,
  tell(response, onDelta) {
    const stream = new ChatStream(onDelta);
    const deltas = messagesIn(response).map(({ tool_calls: calls, ...message }) => ({
      ...{ ...message, tool_calls: objectsOf(calls).map((call, index) => ({ index, ...call })) },
    }));
    for (const delta of deltas.slice(0, 1)) stream.take(null, { choices: [{ index: 0, delta }] });
  },
};

function messagesIn({ choices }: JsonObject): readonly JsonObject[] {
  return objectsOf(choices).flatMap(({ message }) => (isJsonObject(message) ? [message] : []));
}
