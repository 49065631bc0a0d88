import { counted } from "../../base/counted.ts";
import type { JsonValue } from "../../base/json.ts";
import { excerpt } from "../../base/printable.ts";
import { blockFromJson } from "../../domain/block-json.ts";
import type { ConversationEvent } from "../../domain/events/event.ts";
import type { Repair } from "../../domain/events/inference-events.ts";
import type { LayerTiming } from "../../domain/events/shared.ts";
import { entersTurn } from "../../projections/client-turn/apply-to-turns.ts";
import { blockLabel } from "./labels.ts";

/** Notes about an event beside its description: what did not get through, and what layers did that no Turn shows. */
export function sideNotesOf(event: ConversationEvent): readonly string[] {
  switch (event.type) {
    case "InferenceRequested":
      return [...repairNotes(event.data.decision.repairs), ...(event.data.timings ?? []).flatMap(layerNotes)];
    case "ResponseReceived": {
      const omitted = event.data.output.filter((block) => !entersTurn(block)).map(blockFromJson);
      return omitted.length === 0
        ? []
        : [`not in the Turn, for it is not whole: ${omitted.map(blockLabel).join(", ")}`];
    }
    case "InferenceFailed": {
      const { length } = event.data.partial;
      return length === 0
        ? []
        : [`${counted(length, "item")} had come by then, and ${length === 1 ? "is" : "are"} in no Turn`];
    }
    case "RunCompleted":
    case "RunFailed":
    case "RunCancelled":
      return (event.data.timings ?? []).flatMap(layerNotes);
    default:
      return [];
  }
}

/** What a layer did in one call that no Turn shows. */
export function layerNotes({ layer, withoutNext, swallowed = [] }: LayerTiming): readonly string[] {
  const name = excerpt(layer, 40);
  const errors = swallowed.map(
    ({ frame, message }) => `${name} went on after an error of frame ${frame}: ${excerpt(message, 80)}`,
  );
  return withoutNext === true ? [`${name} answered by itself, without calling next`] : errors;
}

/** Further repairs are only counted. */
const shownRepairs = 2;

function repairNotes(repairs: readonly Repair[]): readonly string[] {
  if (repairs.length === 0) return [];
  const shown = repairs.slice(0, shownRepairs).map(repairWords).join(", ");
  return [`repaired: ${shown}${repairs.length > shownRepairs ? ` and ${repairs.length - shownRepairs} more` : ""}`];
}

const wordOf = (value: JsonValue | undefined): string =>
  typeof value === "string" ? value : JSON.stringify(value ?? null);

/** A change that made a request acceptable, in words. */
export function repairWords(repair: Repair): string {
  const { rule, index, detail } = repair;
  const say = (name: string): string => excerpt(wordOf(detail[name]), 40);
  switch (rule) {
    case "omit":
      return `block ${index} left out (${say("reason")})`;
    case "erased":
      return `block ${index} sent as a stand-in, because its content was erased`;
    case "omit-id":
      return `block ${index} sent without its item id (${say("reason")})`;
    case "omit-parts":
      return `block ${index} sent without its parts ${say("parts")} (${say("reason")})`;
    case "rename-call":
      return `block ${index} sent as call ${say("callId")}: ${detail["reason"] === undefined ? "its id was taken" : "its id is none that the server takes"}`;
    case "late-result":
      return `block ${index}, a result that came late, sent as a message about call ${say("call")}`;
    case "stand-in":
      return `block ${index} sent without a signature of its own (${say("reason")})`;
    case "answer":
      return `call ${say("callId")} of block ${index} answered as aborted: it had no result`;
    case "prompt":
      return `a word of the user sent behind block ${index - 1}, which the server does not take as the last one (${say("reason")})`;
    case "restate":
      return `block ${index} put as this server takes it (${say("reason")})`;
    default:
      return `block ${index}: ${excerpt(rule, 40)}`;
  }
}
