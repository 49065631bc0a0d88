import { isJsonObject } from "../base/json.ts";
import { checkOptions, kindOf } from "../base/options.ts";
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
  names: Readonly<Record<string, true>>,
): void {
  const { id, log } = isJsonObject(conversation) ? conversation : {};
  if (typeof id !== "string" || !isJsonObject(log))
    throw new TypeError(
      `${where} takes a conversation, and is given ${kindOf(conversation)}: write store.conversation(id)`,
    );
  checkOptions(where, options, names);
  const { codecs } = isJsonObject(options) ? options : {};
  if (codecs !== undefined && !(codecs instanceof Map))
    throw new TypeError(`${where}: codecs is ${kindOf(codecs)}: give those of a store, or none for the conversation's`);
}
