import { createHash } from "node:crypto";
import type { ScriptedAnswer } from "../answers.ts";
import { defaultDeltaLength, eventStream } from "../by-id.ts";
import { tokensIn, unitOf, unitsIn } from "../cache/prompt.ts";
import { type CacheUse, PromptCache } from "../cache/prompt-cache.ts";
import { asJson } from "../delivery.ts";
import type { Front, FrontAnswer } from "../front.ts";
import type { ReferenceServerOptions } from "../options.ts";
import { untidyFor, withNoise } from "../untidy.ts";
import { isObject, type JsonObject, objectsOf, stringOf } from "../wire.ts";
import { eventsOf, type InteractionHead, interactionBody, statusOf, stepsFor } from "./interaction-answer.ts";
import { readingOf } from "./interaction-reading.ts";
import * as refuse from "./interaction-refusals.ts";
import { checkInteraction, checkSteps, stepsIn } from "./interaction-request.ts";
import { createSignatures } from "./signatures.ts";
import { untidyBegin, untidySteps } from "./untidy.ts";

/**
 * The Interactions API. What exactly an interaction inherits from its parent is not documented; here it is all steps of the parent's
 * context, including its answer, and no settings.
 */
export function createInteractionsFront(options: ReferenceServerOptions & { readonly seed: string }): Front {
  const { models, maxContextTokens = Number.POSITIVE_INFINITY, deltaLength = defaultDeltaLength } = options;
  const cache = new PromptCache("interactions", options);
  const signatures = createSignatures(`${options.seed} interactions`);
  const kept = new Map<string, Kept>();
  let answers = 0;

  function render(asked: Asked, answer: ScriptedAnswer, error: JsonObject | undefined): FrontAnswer {
    const hash = createHash("sha256").update(`${options.seed}:interactions:${answers}`).digest("base64url");
    answers += 1;
    if (answer.status === "failed") {
      const { status, body } = refuse.failed(answer.error?.message ?? "An internal error has occurred.");
      return { outgoing: asJson(status, body), responseId: undefined };
    }
    const steps = stepsFor(answer, signatures.sign);
    const usage = { ...usageOf(steps, asked), ...answer.usage };
    const head: InteractionHead = { id: `v1_${hash}`, model: asked.model, usage, status: statusOf(answer) };
    const untidy = untidyFor(options.untidy, `interactions:${answers}`);
    const commit = (): void => {
      if (asked.isStored) kept.set(head.id, { parent: asked.parent, steps: [...asked.input, ...steps] });
    };
    if (!asked.isStreamed) {
      const body = interactionBody(head, untidy === undefined ? steps : untidySteps(untidy, steps), asked.named);
      return {
        outgoing: error === undefined ? asJson(200, body) : asJson(400, { error }),
        responseId: head.id,
        commit,
      };
    }
    const events = eventsOf(head, steps, { deltaLength, error })
      .map(({ event, data }) => ({ event, data: untidy === undefined ? data : untidyBegin(untidy, data) }))
      .map(({ event, data }) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    const { text, wholeBytes } = withNoise(untidy, events);
    const end = error === undefined ? "event: done\ndata: [DONE]\n\n" : "";
    const outgoing = { status: 200, contentType: eventStream, text: text + end };
    return { outgoing, responseId: head.id, commit, wholeBytes };
  }

  return {
    takes: (method, path) => method === "POST" && path.endsWith("/interactions"),
    accept({ body, index, fault }) {
      if (!isObject(body)) return { refusal: refuse.badBody() };
      const wrong = checkInteraction(body, { models });
      if (wrong !== undefined) return { refusal: wrong };
      const named = stringOf(body["previous_interaction_id"]);
      const parent = named === undefined ? undefined : kept.get(named);
      if (named !== undefined && parent === undefined) return { refusal: refuse.notFound() };
      const input = stepsIn(body["input"]);
      const steps = [...contextOf(parent), ...input];
      const unfit = checkSteps(steps, (text) => signatures.isAuthentic(text));
      if (unfit !== undefined) return { refusal: unfit };
      const places = cache.placesOf(body, [
        unitOf("system", "system_instruction", JSON.stringify(body["system_instruction"] ?? "")),
        ...unitsIn("tool", "tools", objectsOf(body["tools"])),
        ...unitsIn("message", "input", steps),
      ]);
      const prompt = places.at(-1)?.tokens ?? 0;
      if (prompt > maxContextTokens) return { refusal: refuse.tooLong(prompt, maxContextTokens) };
      const use = cache.use({ body, places, index, fault });
      const asked: Asked = {
        ...{ model: stringOf(body["model"]) ?? "", named, parent, input, use },
        isStored: body["store"] !== false,
        isStreamed: body["stream"] === true,
      };
      return {
        ...{ body, cache: use },
        reading: () => readingOf(body, steps),
        render: (answer, error) => render(asked, answer, error),
      };
    },
    serverError: refuse.failed,
    forget: (id) => {
      kept.delete(id);
    },
    clear() {
      cache.clear();
      kept.clear();
      answers = 0;
    },
  };
}

/** A stored interaction: its input, then its answer. */
interface Kept {
  readonly parent: Kept | undefined;
  readonly steps: readonly JsonObject[];
}

function contextOf(last: Kept | undefined): readonly JsonObject[] {
  const all: (readonly JsonObject[])[] = [];
  for (let each = last; each !== undefined; each = each.parent) all.push(each.steps);
  return all.toReversed().flat();
}

interface Asked {
  readonly use: CacheUse;
  readonly model: string;
  readonly named: string | undefined;
  readonly parent: Kept | undefined;
  readonly input: readonly JsonObject[];
  readonly isStored: boolean;
  readonly isStreamed: boolean;
}

/** Reasoning is counted separately from the answer. */
function usageOf(steps: readonly JsonObject[], { use: { prompt, read, isTold } }: Asked): JsonObject {
  const [thoughts = 0, said = 0] = [true, false].map((isThought) =>
    tokensIn(steps.filter(({ type }) => (type === "thought") === isThought).map((step) => JSON.stringify(step))),
  );
  return {
    total_tokens: prompt + thoughts + said,
    total_input_tokens: prompt,
    ...(isTold ? { total_cached_tokens: read } : {}),
    total_output_tokens: said,
    total_tool_use_tokens: 0,
    total_thought_tokens: thoughts,
  };
}
