import { isJsonObject } from "../base/json.ts";
import { kindOf, type OptionSchema } from "../base/options.ts";
import type { ConversationId } from "../domain/ids.ts";
import type { Codecs } from "../engine/recorded/recorded-request.ts";
import type { EventReader } from "../log/codec/event-log.ts";

/** A conversation to replay: `store.conversation(id)` returns one. */
export type RecordedConversation = {
  readonly id: ConversationId;
  readonly log: EventReader;
  readonly codecs: Codecs;
};

/**
 * Checks the arguments of a replay.
 *
 * @throws {TypeError} if the conversation is not one, an option is unknown, or the codecs are invalid.
 */
export function checkReplay(
  where: string,
  conversation: unknown,
  options: unknown,
  { checkNames }: Pick<OptionSchema<unknown>, "checkNames">,
): void {
  const { id, log } = isJsonObject(conversation) ? conversation : {};
  if (typeof id !== "string" || !isJsonObject(log))
    throw new TypeError(`${where} takes a conversation, not ${kindOf(conversation)}: write store.conversation(id)`);
  checkNames(where, options);
  const { codecs } = isJsonObject(options) ? options : {};
  if (codecs !== undefined && !(codecs instanceof Map))
    throw new TypeError(
      `${where}: codecs is ${kindOf(codecs)}: give a store's codecs, or leave it out for the conversation's`,
    );
}
