import type { WatchedPlace } from "../../analysis/time-travel/place.ts";
import type { Conversation } from "../../conversation/conversation.ts";

/** A conversation at one revision, with what its blocks and events need to be described. */
export type FoundPlace = WatchedPlace & { readonly conversation: Pick<Conversation, "id"> };
