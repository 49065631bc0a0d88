import { createHash } from "node:crypto";
import type { ScriptedAnswer } from "../answers.ts";
import { defaultDeltaLength, eventStream } from "../by-id.ts";
import { tokensIn, unitOf, unitsIn } from "../cache/prompt.ts";
import { type CacheUse, PromptCache } from "../cache/prompt-cache.ts";
import { asJson } from "../delivery.ts";
import type { Front, FrontAnswer } from "../front.ts";
import type { ReferenceServerOptions } from "../options.ts";
import { noise, untidyFor } from "../untidy.ts";
import { isObject, type JsonObject, objectsOf } from "../wire.ts";
import { finishOf, partsFor, type ResponseHead, responseBody, responseChunks } from "./answer.ts";
import { codeAssistAddress, unwrapRequest, wrapResponse } from "./code-assist.ts";
import { readingOf } from "./reading.ts";
import { badBody, failed, tooLong } from "./refusals.ts";
import { checkRequest } from "./request.ts";
import { createSignatures } from "./signatures.ts";
import { untidyParts, untidyResponses } from "./untidy.ts";

/**
 * `generateContent` and `streamGenerateContent`, directly and in the bodies of Code Assist. Between requests it keeps only the prefixes
 * of prompts.
 */
export function createGoogleFront(options: ReferenceServerOptions & { readonly seed: string }): Front {
  const { models, maxContextTokens = Number.POSITIVE_INFINITY, deltaLength = defaultDeltaLength } = options;
  const cache = new PromptCache("gemini", options);
  const signatures = createSignatures(options.seed);
  const isAuthentic = (text: string): boolean => options.verifiesCiphertexts === false || signatures.isAuthentic(text);
  let answers = 0;

  function render(asked: Asked, answer: ScriptedAnswer, error: JsonObject | undefined): FrontAnswer {
    const hash = createHash("sha256").update(`${options.seed}:google:${answers}`).digest("base64url");
    answers += 1;
    if (answer.status === "failed") {
      const { status, body } = failed(answer.error?.message ?? "An internal error has occurred.");
      return { outgoing: asJson(status, body), responseId: undefined };
    }
    const untidy = untidyFor(options.untidy, `google:${answers}`);
    const tidy = partsFor(answer, signatures.sign);
    const usage = { ...usageOf(tidy, asked), ...answer.usage };
    const parts = untidy === undefined ? tidy : untidyParts(untidy, tidy);
    const inForm = (chunks: readonly JsonObject[]) => (untidy === undefined ? chunks : untidyResponses(untidy, chunks));
    const head: ResponseHead = { id: hash.slice(0, 22), model: asked.model, usage };
    const finishReason = finishOf(answer);
    const told = asked.isWrapped ? wrapResponse : (each: JsonObject): JsonObject => each;
    if (!asked.isStreamed) {
      const [whole = {}] = inForm([responseBody(head, parts, finishReason)]).map(told);
      return { outgoing: error === undefined ? asJson(200, whole) : asJson(400, { error }), responseId: head.id };
    }
    const all = inForm(responseChunks(head, parts, { finishReason, deltaLength }));
    const sent = error === undefined ? all : [...all.slice(0, 1).map(unfinished), { error }];
    const text = sent.map((chunk) => `data: ${JSON.stringify(told(chunk))}\r\n\r\n${noise(untidy)}`).join("");
    return { outgoing: { status: 200, contentType: eventStream, text }, responseId: head.id };
  }

  return {
    takes: (method, path) => method === "POST" && (address.test(path) || codeAssistAddress.test(path)),
    accept({ body: given, url, headers, index, fault }) {
      if (!isObject(given)) return { refusal: badBody() };
      const [, wrappedMethod] = codeAssistAddress.exec(url.pathname) ?? [];
      const [, named = "", method = wrappedMethod] = address.exec(url.pathname) ?? [];
      const isWrapped = wrappedMethod !== undefined;
      const unwrapped = isWrapped ? unwrapRequest(given, headers, options.takesToken) : { model: named, inner: given };
      if ("refusal" in unwrapped) return unwrapped;
      const { model, inner: body } = unwrapped;
      const wrong = checkRequest(body, { model, models, isAuthentic });
      if (wrong !== undefined) return { refusal: wrong };
      const places = cache.placesOf({ ...body, model }, [
        ...objectsOf([body["systemInstruction"] ?? null]).map((said) =>
          unitOf("system", "systemInstruction", JSON.stringify(said)),
        ),
        ...unitsIn("tool", "tools", objectsOf(body["tools"])),
        ...unitsIn("message", "contents", objectsOf(body["contents"])),
      ]);
      const prompt = places.at(-1)?.tokens ?? 0;
      if (prompt > maxContextTokens) return { refusal: tooLong(prompt, maxContextTokens) };
      const use = cache.use({ body, places, index, fault });
      const asked = { model, use, isStreamed: method === "streamGenerateContent", isWrapped };
      return {
        ...{ body, cache: use },
        reading: () => readingOf(body),
        render: (answer, error) => render(asked, answer, error),
      };
    },
    serverError: failed,
    clear() {
      cache.clear();
      answers = 0;
    },
  };
}

const address = /\/models\/([^/:]+):((?:g|streamG)enerateContent)$/;

interface Asked {
  readonly use: CacheUse;
  readonly model: string;
  readonly isStreamed: boolean;
  /** The request came in the form of Code Assist. */
  readonly isWrapped: boolean;
}

const unfinished = ({ candidates = null, ...chunk }: JsonObject): JsonObject => ({
  ...chunk,
  candidates: objectsOf(candidates).map(({ finishReason: _, ...candidate }) => candidate),
});

/** Reasoning is counted separately from the answer. */
function usageOf(parts: readonly JsonObject[], { use: { prompt, read, isTold } }: Asked): JsonObject {
  const [thoughts, said] = [true, false].map((isThought) =>
    tokensIn(parts.filter(({ thought }) => (thought === true) === isThought).map((part) => JSON.stringify(part))),
  );
  const counts = { candidatesTokenCount: said ?? 0, thoughtsTokenCount: thoughts ?? 0 };
  return {
    promptTokenCount: prompt,
    // Absent on a miss, as recorded from the real service.
    ...(isTold && read > 0 ? { cachedContentTokenCount: read } : {}),
    ...counts,
    totalTokenCount: prompt + counts.candidatesTokenCount + counts.thoughtsTokenCount,
  };
}
