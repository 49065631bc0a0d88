import type { Conversation } from "../conversation/conversation.ts";
import { type LoadedPast, loadPast } from "../conversation/past.ts";
import type { TurnlogStore } from "../conversation/turnlog-store.ts";
import { conversationStream } from "../domain/ids.ts";
import type { Turn } from "../domain/turn.ts";
import type { Follower } from "../log/snapshots/fold.ts";
import { UsageError } from "./exit-codes.ts";
import { findConversation, findRevision } from "./find.ts";
import { lastRevision, parsePlace } from "./revision.ts";

/** A conversation at one revision. */
export type FoundPlace = {
  readonly conversation: Conversation;
  readonly past: LoadedPast;
};

/** A revision of a conversation, found but not read. */
export type FoundRevision = { readonly conversation: Conversation; readonly revision: number };

/**
 * The conversation and the revision that a text names; without a revision, the newest.
 *
 * @throws {UsageError} for a range, and for a text that names nothing.
 * @throws {NotFoundError} when either is not there.
 */
export async function findPlace(store: TurnlogStore, text: string): Promise<FoundRevision> {
  const { conversation: name, at } = parsePlace(text);
  if (at.type === "range") throw new UsageError(`expected one revision, got the range '${text}'`);
  const conversation = await findConversation(store, name);
  const revision = await findRevision(store, conversation, at.type === "none" ? lastRevision : at.revision);
  return { conversation, revision };
}

/** The same, read: its events once, in which `follow` makes of them what else is wanted. */
export async function openPlace(
  store: TurnlogStore,
  text: string,
  follow: (own: string) => Follower = () => () => undefined,
): Promise<FoundPlace> {
  const { conversation, revision } = await findPlace(store, text);
  const own = conversationStream(conversation.id);
  return { conversation, past: await loadPast(store.log, own, revision, () => follow(own)) };
}

/** The Turn that a revision speaks of: what was handed on last while a run is open, else the committed one. */
export const turnSpokenOf = ({ run, turn }: LoadedPast): Turn => run?.handedOn ?? turn;
