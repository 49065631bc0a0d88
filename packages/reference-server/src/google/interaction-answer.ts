import type { ScriptedAnswer } from "../answers.ts";
import { chunks } from "../frames.ts";
import { type JsonObject, objectsOf, stringOf } from "../wire.ts";
import { callOf, textsIn } from "./answer.ts";

/** The members of an interaction except its steps. */
export interface InteractionHead {
  readonly id: string;
  readonly model: string;
  readonly status: string;
  readonly usage: JsonObject;
}

/** The steps of scripted items. Throws for an item that no model of Google's could produce. */
export function stepsFor({ output }: ScriptedAnswer, sign: () => string): readonly JsonObject[] {
  return output.map(({ item }): JsonObject => {
    switch (item["type"]) {
      case "reasoning": {
        const summary = [...textsIn(item["summary"]), ...textsIn(item["content"])].map(textPart);
        return { type: "thought", ...(summary.length === 0 ? {} : { summary }), signature: sign() };
      }
      case "message":
        return {
          type: "model_output",
          content: objectsOf(item["content"]).map(({ text, refusal }) => textPart(stringOf(text ?? refusal) ?? "")),
        };
      case "function_call": {
        const { id = sign(), name = "", args = {} } = callOf(item);
        return { type: "function_call", id, name, arguments: args };
      }
      default:
        throw new Error(`a model of Google's does not say ${stringOf(item["type"]) ?? "this"}`);
    }
  });
}

const textPart = (text: string): JsonObject => ({ type: "text", text });

/** With calls, the client has to act. */
export const statusOf = ({ status, output }: ScriptedAnswer): string =>
  status === "incomplete"
    ? "incomplete"
    : output.some(({ item }) => item["type"] === "function_call")
      ? "requires_action"
      : "completed";

/** The interaction as one JSON object. */
export const interactionBody = (
  { id, model, status, usage }: InteractionHead,
  steps: readonly JsonObject[],
  parent: string | undefined,
): JsonObject => ({
  ...{ id, object: "interaction", model, status, steps, usage },
  ...(parent === undefined ? {} : { previous_interaction_id: parent }),
});

interface InteractionEvent {
  readonly event: string;
  readonly data: JsonObject;
}

/** The same as the events of a stream; before an error, only the first of them. */
export function eventsOf(
  { id, model, status, usage }: InteractionHead,
  steps: readonly JsonObject[],
  { deltaLength, error }: { readonly deltaLength: number; readonly error: JsonObject | undefined },
): readonly InteractionEvent[] {
  const told = (event: string, data: JsonObject): InteractionEvent => ({ event, data: { ...data, event_type: event } });
  const begun = { id, status: "in_progress", object: "interaction", model };
  const said = steps.flatMap((step, index) => {
    const { begin, deltas } = piecesOf(step, deltaLength);
    return [
      told("step.start", { index, step: begin }),
      ...deltas.map((delta) => told("step.delta", { index, delta })),
      told("step.stop", { index }),
    ];
  });
  const before = [
    told("interaction.created", { interaction: begun }),
    told("interaction.status_update", { interaction_id: id, status: "in_progress" }),
  ];
  if (error !== undefined) return [...before, ...said.slice(0, 2), told("error", { error })];
  const last = { id, status, usage, object: "interaction", model };
  return [...before, ...said, told("interaction.completed", { interaction: last })];
}

/** The beginning of a step, and the events after it. */
function piecesOf(
  step: JsonObject,
  length: number,
): { readonly begin: JsonObject; readonly deltas: readonly JsonObject[] } {
  const { type = "" } = step;
  if (type === "thought") {
    const said = textsIn(step["summary"]).flatMap((text) => chunks(text, length));
    const summaries = said.map((text) => ({ type: "thought_summary", content: textPart(text) }));
    const { signature = "" } = step;
    return { begin: { type }, deltas: [...summaries, { type: "thought_signature", signature }] };
  }
  if (type === "model_output") {
    const texts = textsIn(step["content"]).flatMap((text) => chunks(text, length));
    return { begin: { type }, deltas: texts.map(textPart) };
  }
  const { arguments: args = {}, ...call } = step;
  const pieces = chunks(JSON.stringify(args), length);
  return {
    begin: { ...call, arguments: {} },
    deltas: pieces.map((piece) => ({ type: "arguments_delta", arguments: piece })),
  };
}
