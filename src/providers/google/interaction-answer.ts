import { isJsonList, type JsonObject, type JsonValue, objectOf, objectsOf, textOrNull } from "../../base/json.ts";
import { applyDifference, jsonDifference } from "../../base/json-difference.ts";
import type { Counts } from "../../domain/events/shared.ts";
import type { Answer, AnswerContext, Draft, RecordedAnswer } from "../../engine/ports/codec.ts";
import type { AnswerForm } from "../answers/answer-form.ts";
import { callStart } from "../answers/call-start.ts";
import { counts, countTold, nameTold, sumTold } from "../answers/counts.ts";
import { callIdIn, countSaid, failureOfCalls, takeText, usageOf } from "../answers/server-said.ts";
import { draftOf, stepAsSaid } from "./interaction-steps.ts";

/** Reads an interaction: its steps are the answer, and its id is the anchor. */
export function readAnswer(response: JsonObject, { settings, inferenceId }: AnswerContext): Answer {
  const { text: id, others } = takeText(response, "id");
  const { text: status, others: members } = takeText(others, "status");
  const { steps, usage, previous_interaction_id: continued, ...rest } = members;
  const said = stepsIn(response);
  const blocks = said.map((step, place) => draftOf(step, callIdIn(step["id"], inferenceId, place)));
  const unread = said.filter(({ type }, place) => type === "function_call" && blocks[place]?.kind !== "tool_call");
  const isWhole = status !== null && completed.has(status);
  const failure = hasFailed(response) ? failureIn(response) : failureOfCalls(unread, { isWhole });
  const left = steps === undefined ? undefined : jsonDifference(plainSteps(blocks), steps);
  const isComplete = failure === null && isWhole;
  const unusable = !isComplete ? "incomplete" : settings["store"] === false ? "not-stored" : null;
  return {
    ...{ id, status, isComplete, blocks },
    ...(id === null ? {} : { anchor: { kind: "interaction", id, ...(unusable === null ? {} : { unusable }) } }),
    ...(continued === undefined ? {} : { echo: { anchor: continued } }),
    ...(failure === null ? {} : { failure }),
    ...usageOf(usage, tokensIn),
    rest: {
      ...rest,
      ...(steps === undefined ? { hasSteps: false } : left === undefined ? {} : { steps: left }),
    },
  };
}

/** Restores the interaction that an answer was read from. */
export function writeAnswer({ id, status, blocks, usage, echo, rest }: RecordedAnswer): JsonObject {
  const { steps: left, hasSteps, ...members } = rest;
  const continued = echo?.["anchor"];
  return {
    ...(id === null ? {} : { id }),
    ...(status === null ? {} : { status }),
    ...(hasSteps === false ? {} : { steps: applyDifference(plainSteps(blocks), left) }),
    ...(usage === undefined ? {} : { usage: usage.reported }),
    ...(continued === undefined ? {} : { previous_interaction_id: continued }),
    ...members,
  };
}

const plainSteps = (blocks: readonly Draft[]): JsonValue => blocks.map(stepAsSaid);

const stepsIn = ({ steps }: JsonObject): readonly JsonObject[] => objectsOf(steps);

/** An interaction with open calls has the status `requires_action`. */
const completed: ReadonlySet<string> = new Set(["completed", "requires_action"]);
const failed: ReadonlySet<string> = new Set(["failed", "cancelled"]);
const hasFailed = ({ status }: JsonObject): boolean => typeof status === "string" && failed.has(status);

function failureIn({ errors }: JsonObject): NonNullable<Answer["failure"]> {
  const [first] = objectsOf(errors);
  const { code, message } = first ?? {};
  return {
    message: typeof message === "string" ? message : "the provider could not complete the interaction",
    code: textOrNull(code),
  };
}

/** Thinking is counted apart from the output, and input of Google's tools apart from the prompt. */
export function tokensIn(usage: JsonValue) {
  const told = objectOf(usage);
  const count = (name: string): number => countSaid(told[name]);
  return {
    inputTokens: count("total_input_tokens") + count("total_tool_use_tokens"),
    cachedInputTokens: count("total_cached_tokens"),
    outputTokens: count("total_output_tokens") + count("total_thought_tokens"),
    reasoningTokens: count("total_thought_tokens"),
  };
}

/** The counts of an interaction by price class. */
export function countsIn(usage: JsonValue, { model }: JsonObject): Counts {
  const told = objectOf(usage);
  const count = (name: string): number | undefined => countTold(told[name]);
  const input = count("total_input_tokens");
  return counts({
    input: input === undefined ? undefined : sumTold(input, count("total_tool_use_tokens")),
    cacheRead: count("total_cached_tokens"),
    output: sumTold(count("total_output_tokens"), count("total_thought_tokens")),
    reasoning: count("total_thought_tokens"),
    served: nameTold(model),
  });
}

/** How interactions look as answers. */
export const interactionForm: AnswerForm = {
  isAnswer: ({ id, status, steps }) => typeof status === "string" && (typeof id === "string" || isJsonList(steps)),
  itemsOf: stepsIn,
  hasFailed,
  tell(interaction, onDelta) {
    for (const [outputIndex, item] of stepsIn(interaction).entries()) {
      const { type, arguments: args, content, summary } = item;
      if (type === "function_call") {
        onDelta(callStart(outputIndex, { callId: item["id"], name: item["name"] }));
        onDelta({ type: "tool-call-delta", outputIndex, text: JSON.stringify(args ?? {}) });
      }
      const kind = type === "thought" ? "reasoning-delta" : "text-delta";
      const parts = type === "thought" ? summary : type === "model_output" ? content : [];
      for (const part of objectsOf(parts))
        if (typeof part["text"] === "string" && part["text"] !== "")
          onDelta({ type: kind, outputIndex, text: part["text"] });
      onDelta({ type: "item-done", outputIndex, item });
    }
  },
};
