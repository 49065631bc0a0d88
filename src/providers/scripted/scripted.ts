import { isJsonObject, type JsonObject, jsonOf, objectsOf } from "../../base/json.ts";
import { anything, choiceOf, kindOf, optionsOf } from "../../base/options.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { Settings } from "../../engine/ports/codec.ts";
import type { InferenceRequest, InferenceResponse, Provider, StreamDelta } from "../../engine/ports/provider.ts";
import { ProviderError } from "../../engine/ports/provider-error.ts";
import { providerError } from "../failures/classify-error.ts";
import { deltasOf } from "../responses/deltas.ts";
import { responsesCodec } from "../responses/responses-codec.ts";
import { capabilitiesOf, type GivenCapabilities } from "../settings/capabilities.ts";
import { type ScriptedAnswer, scriptedMembers, scriptedResponse, tokensOf } from "./scripted-answer.ts";

export type { ScriptedAnswer } from "./scripted-answer.ts";

/** What a scripted answer may depend on. */
export type ScriptedQuestion = {
  /** From 0, over the life of the provider. */
  readonly requestNumber: number;
  readonly input: readonly JsonObject[];
  /** All that the model reads: the context of the previous response, then the input. */
  readonly context: readonly JsonObject[];
  readonly settings: Settings;
};

export type ScriptedAnswerer = (question: ScriptedQuestion) => ScriptedAnswer;

export type ScriptedOptions = {
  /** Part of every id: two providers with one prefix would share a scope. Letters, digits and `_`. */
  readonly prefix?: string;
  readonly transport?: "json" | "sse";
  readonly capabilities?: GivenCapabilities;
  readonly systemAs?: "input" | "instructions";
  /** The settings of its requests; `{ model: "scripted" }` by default. */
  readonly settings?: Settings;
};

/** A provider that answers from a script and keeps its contexts in memory, for tests and first steps. */
export type ScriptedProvider = Provider & {
  /** The request bodies received, rejected ones included. */
  readonly requests: readonly JsonObject[];
  /** The items that the model read for the n-th request, from 0. */
  reading(requestNumber: number): readonly JsonObject[];
};

const scriptedOptions = optionsOf<ScriptedOptions>({
  ...{ prefix: anything, transport: choiceOf("json", "sse"), capabilities: anything, systemAs: anything },
  settings: anything,
});

/**
 * A model without key or network. It concatenates contexts as a real server does: a request that names a known response continues from it,
 * and one that names an unknown response is rejected as lost. Ids are a digest of the request and its answer, so that a later process with
 * the same script never gives an id another meaning.
 */
export function scripted(
  answers: ScriptedAnswerer | readonly (ScriptedAnswer | ScriptedAnswerer)[],
  options: ScriptedOptions = {},
): ScriptedProvider {
  scriptedOptions.check("scripted", options);
  const { prefix = "", transport = "sse", settings = { model: "scripted" } } = options;
  if (typeof answers !== "function" && !Array.isArray(answers))
    throw new TypeError(
      `scripted takes a list of answers or a function, not ${kindOf(answers)}: write scripted(["Hello."])`,
    );
  if (typeof answers !== "function") for (const [n, answer] of answers.entries()) checkAnswer(answer, `answers[${n}]`);
  const requests: JsonObject[] = [];
  const readings: Context[] = [];
  const contexts = new Map<string, Context>();
  const made = new Map<string, JsonObject>();

  async function infer({
    bodyText,
    signal,
    transport,
    onDelta,
    onStarted,
  }: InferenceRequest): Promise<InferenceResponse> {
    const number = requests.length;
    const body = jsonOf(bodyText);
    if (!isJsonObject(body)) throw providerError({ status: 400, body: "the body of a request must be a JSON object" });
    requests.push(body);
    readings.push(emptyContext);
    refuseWhenAborted(signal, []);
    const known = contextOf(body, contexts);
    const { input, ...asked } = body;
    const context = extended(known, itemsOf(input));
    readings[number] = context;
    const question = { requestNumber: number, input: context.items, settings: asked };
    const given = answerOf(answers, {
      ...question,
      get context() {
        return allItems(context);
      },
    });
    checkAnswer(given, "the answer");
    const answer = typeof given === "string" ? { text: given } : given;
    if (answer.error !== undefined) throw refused(answer.error);
    const tag = `${prefix}${number}_${sha256Hex(JSON.stringify([prefix, number, bodyText, answer])).slice(0, 12)}`;
    const tokens = { inputTokens: context.tokens, cachedTokens: known.tokens };
    const response = scriptedResponse(answer, { body, tag, number, ...tokens });
    const output = itemsOf(response["output"]);
    if (body["background"] === true) {
      made.set(`resp_${tag}`, response);
      contexts.set(`resp_${tag}`, extended(context, output));
      await onStarted?.(`resp_${tag}`);
    }
    await deliver(output, { signal, transport, onDelta });
    if (response["status"] === "failed") throw providerError({ body: response });
    if (body["store"] !== false) contexts.set(`resp_${tag}`, extended(context, output));
    return { response };
  }

  async function waitFor(responseId: string): Promise<InferenceResponse> {
    const response = made.get(responseId);
    const told = { kind: "lost-response", outcome: "unknown", status: 404 } as const;
    if (response === undefined) throw new ProviderError(`response with id '${responseId}' not found`, told);
    if (response["status"] === "failed") throw providerError({ body: response });
    return { response };
  }

  return {
    name: "scripted",
    scope: `scripted prefix=${prefix} codec=${responsesCodec.family}`,
    codec: responsesCodec,
    ...capabilitiesOf(options.capabilities),
    transport,
    settings,
    systemAs: options.systemAs ?? "input",
    infer,
    waitFor,
    requests,
    reading: (requestNumber) => allItems(readings[requestNumber] ?? emptyContext),
  };
}

/** A misspelt member would make an empty answer. */
function checkAnswer(answer: unknown, which: string): void {
  if (typeof answer !== "string" && typeof answer !== "function") scriptedMembers.check(`scripted: ${which}`, answer);
}

/** The context of a response: its newest items, after those before. Shared, so that a long chain needs memory only for its items. */
type Context = { readonly before: Context | null; readonly items: readonly JsonObject[]; readonly tokens: number };

const emptyContext: Context = { before: null, items: [], tokens: 0 };

const extended = (before: Context, items: readonly JsonObject[]): Context => ({
  before,
  items,
  tokens: before.tokens + tokensOf(items),
});

function allItems(context: Context): readonly JsonObject[] {
  const parts: (readonly JsonObject[])[] = [];
  for (let at: Context | null = context; at !== null; at = at.before) parts.push(at.items);
  return parts.reverse().flat();
}

function contextOf(body: JsonObject, contexts: ReadonlyMap<string, Context>): Context {
  const id = body["previous_response_id"];
  if (id === undefined || id === null) return emptyContext;
  const context = typeof id === "string" ? contexts.get(id) : undefined;
  if (context !== undefined) return context;
  const message = `Previous response with id '${typeof id === "string" ? id : JSON.stringify(id)}' not found.`;
  const error = {
    message,
    type: "invalid_request_error",
    param: "previous_response_id",
    code: "previous_response_not_found",
  };
  throw providerError({ status: 400, body: { error } });
}

function answerOf(
  answers: ScriptedAnswerer | readonly (ScriptedAnswer | ScriptedAnswerer)[],
  question: ScriptedQuestion,
): ScriptedAnswer {
  if (typeof answers === "function") return answers(question);
  const answer = answers[question.requestNumber];
  if (answer !== undefined) return typeof answer === "function" ? answer(question) : answer;
  const text = `the script has ${answers.length} answers, but this is request ${question.requestNumber + 1}: give it more`;
  throw new ProviderError(text, { kind: "invalid-request", outcome: "rejected" });
}

function refused({
  status = 400,
  message,
  code = null,
  param = null,
  type = "invalid_request_error",
}: Refusal): ProviderError {
  return providerError({ status, body: { error: { message, type, param, code } } });
}

type Refusal = NonNullable<Exclude<ScriptedAnswer, string>["error"]>;

async function deliver(
  output: readonly JsonObject[],
  { signal, transport, onDelta }: Pick<InferenceRequest, "signal" | "transport" | "onDelta">,
): Promise<void> {
  for (const [outputIndex, item] of output.entries()) {
    let said = "";
    for (const delta of deltasOf(item, outputIndex)) {
      for (const piece of transport === "sse" ? piecesOf(delta) : [delta]) {
        // Yields to listeners between two pieces, as a real stream does.
        await Promise.resolve();
        refuseWhenAborted(signal, [...output.slice(0, outputIndex), ...begun(item, said)]);
        onDelta(piece);
        if (piece.type === "text-delta") said += piece.text;
      }
    }
    onDelta({ type: "item-done", outputIndex, item });
  }
  refuseWhenAborted(signal, output);
}

/** The items so far of a message that is cut off. */
const begun = (item: JsonObject, text: string): readonly JsonObject[] =>
  text === "" ? [] : [{ ...item, status: "in_progress", content: [{ type: "output_text", text, annotations: [] }] }];

/** A delta in pieces of a few characters; never splits a surrogate pair. */
function piecesOf(delta: StreamDelta): readonly StreamDelta[] {
  if (!("text" in delta)) return [delta];
  return (delta.text.match(/.{1,8}/gsu) ?? []).map((text) => ({ ...delta, text }));
}

function refuseWhenAborted(signal: AbortSignal, partial: readonly JsonObject[]): void {
  if (!signal.aborted) return;
  throw new ProviderError("the request was aborted", {
    kind: "aborted",
    outcome: partial.length === 0 ? "rejected" : "unknown",
    partial,
    cause: signal.reason,
  });
}

/** The items of an `input` or `output`; a text is one user message. */
function itemsOf(value: JsonObject[string]): readonly JsonObject[] {
  if (typeof value === "string") return [{ type: "message", role: "user", content: value }];
  return objectsOf(value);
}
