import { createHash } from "node:crypto";
import type { ScriptedAnswer } from "../answers.ts";
import { defaultDeltaLength, eventStream } from "../by-id.ts";
import type { ReadPrompt } from "../cache/diagnosis.ts";
import { tokensIn } from "../cache/prompt.ts";
import { PromptCache } from "../cache/prompt-cache.ts";
import { asJson } from "../delivery.ts";
import type { Front, FrontAnswer, FrontCall } from "../front.ts";
import type { ReceivedRequest, ReferenceServerOptions } from "../options.ts";
import type { Refusal } from "../refusals.ts";
import { untidyFor, withNoise } from "../untidy.ts";
import { isObject, type JsonObject, stringOf } from "../wire.ts";
import { Diagnoses } from "./diagnoses.ts";
import { contentOf, eventsOf } from "./message.ts";
import { hasImages, unitsOf } from "./prompt-units.ts";
import { readingOf } from "./reading.ts";
import { checkRequest, said } from "./request.ts";
import { ServerTools } from "./server-tools.ts";
import { Thoughts } from "./thoughts.ts";
import { Threads, type WholeRequest } from "./threads.ts";
import { untidyEvents, untidyMessage } from "./untidy.ts";
import { usageOf } from "./usage.ts";

/**
 * The Messages API. Between requests it keeps only the prefixes of prompts that were marked for its cache, and
 * threads if they are requested.
 */
export function createMessagesFront(options: ReferenceServerOptions & { readonly seed: string }): Front {
  const { seed, models, maxContextTokens = Number.POSITIVE_INFINITY, deltaLength = defaultDeltaLength } = options;
  const cache = new PromptCache("messages", options);
  const diagnoses = new Diagnoses(cache.facts);
  const threads = new Threads(options);
  const thoughts = new Thoughts(seed);
  const serverTools = new ServerTools();
  const looksAtPrefix = options.checksReasoning === "refuses";
  let answers = 0;

  function render(request: CheckedRequest, usage: JsonObject, { answer, error }: Rendered): FrontAnswer {
    const { whole: body, told, transformations, isKept, prompt } = request;
    const hash = createHash("sha256").update(`${seed}:messages:${answers}`).digest("hex");
    answers += 1;
    const id = `msg_${hash.slice(0, 24)}`;
    if (answer.status === "failed") {
      const { status, body: failed } = said(answer.error?.message ?? "Internal server error", 500, "api_error");
      return { outgoing: asJson(status, failed), responseId: undefined };
    }
    const content = contentOf(answer, { seed, id: hash.slice(0, 8) });
    const message = {
      ...{ id, type: "message", role: "assistant", model: body["model"] ?? "", content },
      ...{ stop_reason: stopOf(answer, content), stop_sequence: null },
      ...serverTools.containerOf(body, content, hash),
      usage: { ...usage, output_tokens: tokensIn([JSON.stringify(content)]), ...answer.usage },
      ...(transformations.length === 0 ? {} : { input_transformations: transformations }),
      ...diagnoses.of(id, prompt),
    };
    // No request can continue from a refusal.
    const isStored = isKept && message.stop_reason !== "refusal";
    thoughts.bind(told, content);
    const kept = isStored ? { commit: () => threads.keep(id, request, content) } : {};
    const wrong = error === undefined ? undefined : { type: "error", error };
    const untidy = untidyFor(options.untidy, `messages:${answers}`);
    if (body["stream"] !== true) {
      const whole = untidy === undefined ? message : untidyMessage(untidy, message);
      return { outgoing: wrong === undefined ? asJson(200, whole) : asJson(500, wrong), responseId: id, ...kept };
    }
    const tidy = eventsOf(message, deltaLength);
    const events = untidy === undefined ? tidy : untidyEvents(untidy, tidy);
    const sent = wrong === undefined ? events : [...events.slice(0, 2), wrong];
    const { text, wholeBytes } = withNoise(
      untidy,
      sent.map((event) => `event: ${stringOf(event["type"]) ?? ""}\ndata: ${JSON.stringify(event)}\n\n`),
    );
    return { outgoing: { status: 200, contentType: eventStream, text }, responseId: id, wholeBytes, ...kept };
  }

  return {
    takes: (method, path) => method === "POST" && path.endsWith("/messages"),
    accept({ body, headers, index, fault }): FrontCall | { readonly refusal: Refusal } {
      if (!isObject(body)) return { refusal: said("The request body is not valid JSON") };
      const request = threads.wholeOf(body, headers);
      if ("refusal" in request) return request;
      const { whole, parent, held } = request;
      const asked = bindingAsked(whole, headers);
      if (asked !== undefined && "refusal" in asked) return asked;
      const unknown = options.unsupported?.find((name) => Object.hasOwn(body, name));
      if (unknown !== undefined) return { refusal: said(`${unknown}: Extra inputs are not permitted`) };
      const wrong = checkRequest(whole, models, held) ?? diagnoses.refusalOf(whole) ?? serverTools.refusalOf(whole);
      if (wrong !== undefined) return { refusal: wrong };
      const looks = { looksAtPrefix: looksAtPrefix || asked !== undefined, drops: asked?.drops === true };
      const checked =
        options.verifiesCiphertexts === false ? { read: whole, transformations: [] } : thoughts.check(whole, looks);
      if (checked.refusal !== undefined) return { refusal: checked.refusal };
      const { read: told, transformations } = checked;
      const read = { ...whole, images: hasImages(whole) };
      const places = cache.placesOf(read, unitsOf(whole));
      const size = places.at(-1)?.tokens ?? 0;
      if (size > maxContextTokens)
        return { refusal: said(`prompt is too long: ${size} tokens > ${maxContextTokens} maximum`) };
      const use = cache.use({ body: whole, places, index, fault });
      if (parent !== null) parent.isInFlight = true;
      return {
        ...{ body, cache: use },
        reading: () => readingOf(told),
        release() {
          if (parent !== null) parent.isInFlight = false;
        },
        render: (answer, error) =>
          render({ ...request, told, transformations, prompt: { body: read, places } }, usageOf(use), {
            answer,
            error,
          }),
      };
    },
    serverError: (message) => said(message, 500, "api_error"),
    tooLarge: () => said("Request exceeds the maximum size", 413, "request_too_large"),
    clear() {
      cache.clear();
      diagnoses.clear();
      threads.clear();
      thoughts.clear();
      serverTools.clear();
      answers = 0;
    },
  };
}

/** What a request asks to do with thinking blocks after another prefix than their own; undefined if it does not say. */
function bindingAsked(
  { thinking }: JsonObject,
  headers: ReceivedRequest["headers"],
): { readonly drops: boolean } | { readonly refusal: Refusal } | undefined {
  const binding = isObject(thinking) ? thinking["block_binding"] : undefined;
  if (binding === undefined) return undefined;
  if (!String(headers["anthropic-beta"] ?? "").includes(bindingBeta))
    return { refusal: said("thinking.block_binding: Extra inputs are not permitted") };
  return { drops: isObject(binding) && binding["prefix_mismatch_behavior"] === "drop_block" };
}

const bindingBeta = "thinking-binding-controls-2026-08-01";

/** A request with what the model reads of it, and what the answer reports about the difference. */
type CheckedRequest = WholeRequest & {
  readonly told: JsonObject;
  readonly transformations: readonly JsonObject[];
  readonly prompt: ReadPrompt;
};

type Rendered = { readonly answer: ScriptedAnswer; readonly error: JsonObject | undefined };

/** The stop reason of an answer that ends early, by the script's word for it. */
const stops: ReadonlyMap<string, string> = new Map([
  ["content_filter", "refusal"],
  ["pause_turn", "pause_turn"],
]);

function stopOf({ status, incompleteDetails }: ScriptedAnswer, content: readonly JsonObject[]): string {
  if (status === "incomplete") return stops.get(incompleteDetails?.reason ?? "") ?? "max_tokens";
  return content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn";
}
