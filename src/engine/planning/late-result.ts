import { jsonTextOf } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import type { Repair } from "../../domain/events/inference-events.ts";
import { text, user } from "../../domain/make-block.ts";
import { resultParts } from "../../domain/message-content.ts";
import type { Turn } from "../../domain/turn.ts";

/** A result is sent as a user's message, because the conversation has gone on since the call at `call`: its wire has no place for it. */
export const lateResult = (index: number, call: number): Repair => ({ rule: "late-result", index, detail: { call } });

/** The block as it is sent where a repair says that it is a result which came late. */
export function toldLate(block: Block, here: readonly Repair[], turn: Turn): Block {
  const at = here.find(({ rule }) => rule === "late-result")?.detail["call"];
  const call = typeof at === "number" ? turn.at(at) : undefined;
  return call === undefined ? block : lateMessage(block, call);
}

/**
 * Whether a message can say it: what functions and custom tools give. A screenshot, or what else a provider has a form of its own
 * for, would be a text that no model reads.
 */
export const isTellable = ({ type }: Block): boolean => type === "function" || type === "custom";

/**
 * The message that tells the model of a result which came late. It names the call by its tool and its arguments, because many models
 * never see ids. Recorded requests are made again with these words: other words are another repair, under another name.
 */
export function lateMessage(result: Block, call: Block): Block {
  const lead = `[Result of your earlier call ${call.name ?? call.type}(${shortened(call.arguments)}), which was not there before:]`;
  const { output = null } = result.payload;
  const parts = resultParts(output);
  const said = typeof output === "string" ? output : jsonTextOf(output);
  return user(parts === null ? `${lead}\n${said}` : [text(lead), ...parts]).withId(result.id);
}

/** So much of the arguments tells one call from another. */
const maxArguments = 1_000;

const shortened = (given: string): string =>
  given.length <= maxArguments ? given : `${given.slice(0, maxArguments).replace(/[\uD800-\uDBFF]$/, "")}…`;
