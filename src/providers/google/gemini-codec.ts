import type { Block } from "../../domain/block.ts";
import type { RequestParts, SignedPlace } from "../../engine/ports/codec.ts";
import { defineCodec } from "../codec/define-codec.ts";
import { countsIn, readAnswer, writeAnswer } from "./gemini-answer.ts";
import { contentsOf } from "./gemini-contents.ts";
import { isSigned, partRefusal, refusalOf, restatedRule } from "./gemini-parts.ts";
import { adjust, bodySettings, checksSignatures, instruct, offeredTools } from "./gemini-settings.ts";

/** The contents of Gemini's `generateContent`, on Google's own API, on Vertex, and behind Code Assist. */
export const geminiCodec = defineCodec({
  name: "google-gemini/1",
  resultsStandTogether: true,
  ...{ adjust, instruct, offeredTools, standInRule, readAnswer, writeAnswer, countsIn },
  restated: restatedRule,
  unsendableReason: refusalOf,
  unsendablePart: partRefusal,
  encodeRequest,
});

function encodeRequest({ settings, input }: RequestParts): string {
  return JSON.stringify({
    ...bodySettings(settings),
    contents: contentsOf(input, { signs: checksSignatures(settings) }),
  });
}

/**
 * A signature is valid at the endpoint that made it. If the model checks signatures, the first call of each step needs one, which calls of
 * other models and edited calls do not have.
 */
function standInRule(block: Block, { isForeign, stretch, settings }: SignedPlace): string | null {
  if (isForeign && isSigned(block)) return "foreign-signature";
  const isFirst = block.kind === "tool_call" && !stretch.some(({ kind }) => kind === "tool_call");
  return isFirst && checksSignatures(settings) && !isSigned(block) ? "no-signature" : null;
}
