import { createHash } from "node:crypto";
import type { ScriptedAnswer } from "../answers.ts";
import { defaultDeltaLength, eventStream } from "../by-id.ts";
import { tokensIn } from "../cache/prompt.ts";
import { type CacheUse, PromptCache } from "../cache/prompt-cache.ts";
import { asJson } from "../delivery.ts";
import type { Front, FrontAnswer, FrontCall } from "../front.ts";
import type { ReferenceServerOptions } from "../options.ts";
import { noise, untidyFor } from "../untidy.ts";
import { isObject, type JsonObject, objectsOf, stringOf } from "../wire.ts";
import { type CompletionHead, completionBody, completionChunks, messageOf } from "./completion.ts";
import type { ChatServerDialect } from "./dialects.ts";
import { checkMarks, promptUnits } from "./prompt-units.ts";
import { readingOf } from "./reading.ts";
import { badBody, failed, tooLong } from "./refusals.ts";
import { checkRequest } from "./request.ts";
import { untidyBody, untidyChunks } from "./untidy.ts";

/** Chat Completions. Between requests it keeps only the prefixes of prompts in its cache. */
export function createChatFront(options: ReferenceServerOptions & { readonly seed: string }): Front {
  const { chat: dialect = "openai", models, unsupported, maxContextTokens = Number.POSITIVE_INFINITY } = options;
  const cache = new PromptCache("chat", options);
  let answers = 0;

  function render(body: JsonObject, use: CacheUse, { answer, error }: Rendered): FrontAnswer {
    const hash = createHash("sha256").update(`${options.seed}:chat:${answers}`).digest("hex");
    answers += 1;
    const id = `chatcmpl-${hash.slice(0, 29)}`;
    const message = messageOf(answer, { id, dialect });
    const untidy = untidyFor(options.untidy, `chat:${answers}`);
    const head: CompletionHead = {
      ...{ id, dialect, model: stringOf(body["model"]) ?? "" },
      created: Math.floor((options.now ?? Date.now)() / 1000),
      usage: usageOf(message, { use, dialect, given: answer.usage ?? {} }),
    };
    const { deltaLength = defaultDeltaLength } = options;
    const isStreamed = body["stream"] === true;
    if (answer.status === "failed") {
      const { status, body: told } = failed(dialect, answer.error?.message ?? "The server had an error.");
      return { outgoing: asJson(status, told), responseId: undefined };
    }
    const finish = finishOf(answer, message);
    if (!isStreamed) {
      const whole = completionBody(head, message, finish);
      const said = untidy === undefined ? whole : untidyBody(untidy, whole);
      const told = error === undefined ? asJson(200, said) : asJson(400, { error });
      return { outgoing: told, responseId: id };
    }
    const isUsageAsked = objectsOf([body["stream_options"] ?? null])[0]?.["include_usage"] === true;
    const tidy = completionChunks(head, message, { finish, deltaLength, isUsageAsked });
    const all = untidy === undefined ? tidy : untidyChunks(untidy, tidy);
    const sent = error === undefined ? all : [...all.slice(0, 1), { error }];
    const end = untidy?.pick(["data: [DONE]\n\n", "data: [DONE] \n\n", "data:[DONE]\n\n"]) ?? "data: [DONE]\n\n";
    const events = sent.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n${noise(untidy)}`).join("");
    const text = `${noise(untidy)}${events}${error === undefined ? end : ""}`;
    return { outgoing: { status: 200, contentType: eventStream, text }, responseId: id };
  }

  return {
    takes: (method, path) => method === "POST" && path.endsWith("/chat/completions"),
    accept({ body, index, fault }): FrontCall | { readonly refusal: ReturnType<typeof badBody> } {
      if (!isObject(body)) return { refusal: badBody(dialect) };
      const wrong =
        checkRequest(body, dialect, models) ?? checkMarks(objectsOf(body["messages"]), { dialect, unsupported });
      if (wrong !== undefined) return { refusal: wrong };
      const places = cache.placesOf(body, promptUnits(body, dialect));
      const prompt = places.at(-1)?.tokens ?? 0;
      if (prompt > maxContextTokens) return { refusal: tooLong(dialect, prompt, maxContextTokens) };
      const use = cache.use({ body, places, index, fault });
      return {
        ...{ body, cache: use },
        reading: () => readingOf(body, dialect),
        render: (answer, error) => render(body, use, { answer, error }),
      };
    },
    serverError: (message) => failed(dialect, message),
    clear() {
      cache.clear();
      answers = 0;
    },
  };
}

type Rendered = { readonly answer: ScriptedAnswer; readonly error: JsonObject | undefined };

function finishOf({ status, incompleteDetails }: ScriptedAnswer, message: JsonObject): string {
  if (status === "incomplete") return incompleteDetails?.reason === "content_filter" ? "content_filter" : "length";
  return message["tool_calls"] === undefined ? "stop" : "tool_calls";
}

function usageOf(
  message: JsonObject,
  of: { readonly use: CacheUse; readonly dialect: ChatServerDialect; readonly given: JsonObject },
): JsonObject {
  const { use, dialect, given } = of;
  const { prompt, read } = use;
  const completion = tokensIn([JSON.stringify(message)]);
  const thought = stringOf(message["reasoning_content"] ?? message["reasoning"]) ?? "";
  return {
    ...{ prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
    ...(use.isTold && dialect === "deepseek"
      ? { prompt_cache_hit_tokens: read, prompt_cache_miss_tokens: prompt - read }
      : {}),
    ...(use.isTold ? { prompt_tokens_details: { cached_tokens: read, ...writesOf(use) } } : {}),
    completion_tokens_details: { reasoning_tokens: tokensIn([thought]) },
    ...given,
  };
}

const writesOf = ({ areWritesTold, written }: CacheUse): JsonObject =>
  areWritesTold ? { cache_write_tokens: written.all } : {};
