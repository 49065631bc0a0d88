import { jsonTextOf } from "../../base/json.ts";
import { Block } from "../../domain/block.ts";
import type { Repair } from "../../domain/events/inference-events.ts";
import { text, user } from "../../domain/make-block.ts";
import { resultParts } from "../../domain/message-content.ts";
import type { Turn } from "../../domain/turn.ts";

/**
 * A result is sent as a user's message, because the conversation has continued since the call at `call`, and its wire has no place
 * for the result.
 */
export const lateResult = (index: number, call: number): Repair => ({ rule: "late-result", index, detail: { call } });

/** The block as it is sent after this repair, if it is a late result. */
export function toldLate(block: Block, here: readonly Repair[], turn: Turn): Block {
  const [call] = quotedCalls(here, turn);
  return call === undefined ? block : lateMessage(block, call);
}

/** The calls in a Turn that the messages about late results quote. */
export const quotedCalls = (repairs: readonly Repair[], turn: Turn): readonly Block[] =>
  repairs.flatMap(({ rule, detail: { call } }) =>
    rule === "late-result" && typeof call === "number" ? (turn.at(call) ?? []) : [],
  );

/**
 * Whether a message can express the result: results of functions and custom tools. A screenshot, or another result in a provider's
 * own form, would be a text that no model can read.
 */
export const isTellable = ({ type }: Block): boolean => type === "function" || type === "custom";

/**
 * The message that gives the model a late result. It names the call by its tool and arguments, because many models never see ids.
 * Recorded requests are rebuilt with these words: a change of them needs a repair of another name.
 */
export function lateMessage(result: Block, call: Block): Block {
  const lead = `[Result of your earlier call ${call.name ?? call.type}(${shortened(call.arguments)}), which was not there before:]`;
  const { output = null } = result.payload;
  const parts = resultParts(output);
  const said = typeof output === "string" ? output : jsonTextOf(output);
  const message = user(parts === null ? `${lead}\n${said}` : [text(lead), ...parts]).withId(result.id);
  return Block.namedLike(message, result);
}

/** The length of arguments that is enough to distinguish two calls. */
const maxArguments = 1_000;

const shortened = (given: string): string =>
  given.length <= maxArguments ? given : `${given.slice(0, maxArguments).replace(/[\uD800-\uDBFF]$/, "")}…`;
