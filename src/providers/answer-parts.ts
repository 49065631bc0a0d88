import { isFilledText, type JsonObject, type JsonValue } from "../base/json.ts";
import type { Answer, Draft } from "../engine/stack/codec.ts";

/** A member that is a text, and the others; one that is anything else stays among them, so that it is kept as it came. */
export function takeText(
  answer: JsonObject,
  member: string,
): { readonly text: string | null; readonly others: JsonObject } {
  const { [member]: value, ...others } = answer;
  return typeof value === "string" ? { text: value, others } : { text: null, others: answer };
}

type Usage = NonNullable<Answer["usage"]>;

/** What an answer says that it has cost, beside the words in which it was reported; nothing where it says none. */
export const usageOf = (
  reported: JsonValue | undefined,
  tokensIn: (usage: JsonValue) => Omit<Usage, "reported">,
): { readonly usage?: Usage } => (reported === undefined ? {} : { usage: { ...tokensIn(reported), reported } });

/** A block of `make-block.ts` as a draft: what it says, and nothing of where it stands. */
export const plainDraft = ({ kind, payload }: Draft): Draft => ({ kind, payload });

/** The id of the call at this place of an answer. One that the server gave none gets one, the same whenever the answer is read. */
export const callIdIn = (given: JsonValue | undefined, inferenceId: string, place: number): string =>
  isFilledText(given) ? given : `call_${`${inferenceId}/${place}`.replace(/[^a-zA-Z0-9]/g, "_")}`;
