import { isJsonObject } from "../base/json.ts";
import { kindOf, type OptionSchema } from "../base/options.ts";
import type { ConversationId } from "../domain/ids.ts";
import type { Codecs } from "../engine/planning/recorded-request.ts";
import type { EventReader } from "../log/codec/event-log.ts";

/** A conversation to be gone through again: `store.conversation(id)` gives one. */
export type RecordedConversation = {
  readonly id: ConversationId;
  readonly log: EventReader;
  readonly codecs: Codecs;
};

/**
 * Whether a conversation can be replayed by what was given.
 *
 * @throws {TypeError} for what is no conversation, for an option that is none, and for codecs that are none.
 */
export function checkReplay(
  where: string,
  conversation: unknown,
  options: unknown,
  { checkNames }: Pick<OptionSchema<unknown>, "checkNames">,
): void {
  const { id, log } = isJsonObject(conversation) ? conversation : {};
  if (typeof id !== "string" || !isJsonObject(log))
    throw new TypeError(
      `${where} takes a conversation, and is given ${kindOf(conversation)}: write store.conversation(id)`,
    );
  checkNames(where, options);
  const { codecs } = isJsonObject(options) ? options : {};
  if (codecs !== undefined && !(codecs instanceof Map))
    throw new TypeError(`${where}: codecs is ${kindOf(codecs)}: give those of a store, or none for the conversation's`);
}
