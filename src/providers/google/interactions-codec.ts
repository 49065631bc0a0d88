import type { RequestParts } from "../../engine/ports/codec.ts";
import { defineCodec } from "../codec/define-codec.ts";
import { partRefusal, refusalOf, restatedRule } from "./gemini-parts.ts";
import { countsIn, readAnswer, writeAnswer } from "./interaction-answer.ts";
import { adjust, bodySettings, unstored } from "./interaction-settings.ts";
import { isSaidAsJson, isSignedStep, stepsOf } from "./interaction-steps.ts";

/** The steps of Google's Interactions API. A stored interaction can be continued by its id any number of times. */
export const interactionsCodec = defineCodec({
  name: "google-interactions/1",
  anchors: { interaction: {} },
  ...{ resultsStandTogether: true, namesCalls: true },
  ...{ adjust, unstored, readAnswer, writeAnswer, countsIn },
  restated: (block) => (isSaidAsJson(block) ? "result-as-json" : restatedRule(block)),
  unsendableReason: refusalOf,
  unsendablePart: partRefusal,
  standInRule: (block, { isForeign }) => (isForeign && isSignedStep(block) ? "foreign-signature" : null),
  encodeRequest,
});

function encodeRequest({ settings, input, anchor, transport }: RequestParts): string {
  return JSON.stringify({
    ...bodySettings(settings),
    ...(anchor === null ? {} : { previous_interaction_id: anchor.id }),
    input: stepsOf(input),
    ...(transport === "sse" ? { stream: true } : {}),
  });
}
