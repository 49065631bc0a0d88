import { compaction } from "./answers.ts";
import { uncompacted } from "./compacting.ts";
import { itemsOf, tokensOf } from "./contexts.ts";
import { asJson, type Outgoing, refused } from "./delivery.ts";
import { type Accepted, createInference } from "./inference.ts";
import { inputTokens } from "./link-places.ts";
import type { Memory } from "./memory.ts";
import type { ReferenceServerOptions } from "./options.ts";
import { missingParameter } from "./refusals.ts";
import { checkFieldNames } from "./request-schema.ts";
import { usageOf } from "./response-body.ts";
import { createScript } from "./script.ts";
import { type JsonObject, stringOf, typeOf } from "./wire.ts";

/** Answers questions about a request without making it: the model is not asked, and nothing is stored. */
interface Asking {
  readonly memory: Memory;
  readonly options: ReferenceServerOptions;
}

/** Fields of `InputTokenCountParams` and of `ResponseCompactParams`, of openai 7.57.0. */
const countFields =
  "conversation input instructions model parallel_tool_calls personality previous_response_id reasoning text tool_choice tools truncation".split(
    " ",
  );
const compactFields =
  "image input instructions model previous_response_id prompt_cache_key prompt_cache_options prompt_cache_retention service_tier".split(
    " ",
  );

/** How many tokens the input of a request would have. */
export function countInput(asking: Asking, body: JsonObject): Outgoing {
  const { models = ["any"] } = asking.options;
  const wrong = checkFieldNames(body, countFields);
  if (wrong !== undefined) return refused(wrong);
  const { personality: _, ...asked } = body;
  return about(asking, { ...asked, model: asked["model"] ?? models[0] ?? "any" }, (accepted) => ({
    object: "response.input_tokens",
    input_tokens: inputTokens(accepted),
  }));
}

/** The context in a form that a client can continue elsewhere: the user's messages, and a ciphertext of the rest. */
export function compact(asking: Asking, body: JsonObject): Outgoing {
  const { memory, options } = asking;
  if ((body["model"] ?? null) === null) return refused(missingParameter("model"));
  const wrong = checkFieldNames(body, compactFields);
  if (wrong !== undefined) return refused(wrong);
  return about(asking, body, (accepted) => {
    const isUsers = (item: JsonObject): boolean => typeOf(item) === "message" && item["role"] === "user";
    const finished = memory.finish([compaction()]);
    memory.issue(finished, false);
    const read = uncompacted(itemsOf(accepted.before), memory.compacted);
    for (const { item } of finished)
      if (options.compacts === true) memory.compacted.set(stringOf(item["id"]) ?? "", read);
    const made = memory.deliver(
      finished.map(({ item }) => item),
      true,
    );
    const users = itemsOf(accepted.before).filter(isUsers);
    const asked = users.map((item) => ({ id: memory.nextId("msg"), type: "message", status: "completed", ...item }));
    const output = [...asked, ...made];
    const tokens = { input: inputTokens(accepted), output: tokensOf(output), reasoning: 0 };
    const createdAt = Math.floor((options.now ?? Date.now)() / 1000);
    const id = memory.nextId("resp");
    return { id, object: "response.compaction", created_at: createdAt, output, usage: usageOf(tokens) };
  });
}

/** Checks a request as if it asked the model, except that it may continue without an input. */
function about({ memory, options }: Asking, body: JsonObject, told: (accepted: Accepted) => JsonObject): Outgoing {
  const inference = createInference(memory, { ...options, acceptsEmptyInput: true }, createScript({}));
  const accepted = inference.accept(body, undefined);
  return "refusal" in accepted ? refused(accepted.refusal) : asJson(200, told(accepted));
}
