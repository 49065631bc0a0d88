import type { Conversation } from "../../src/conversation/conversation.ts";
import type { TurnlogStore } from "../../src/conversation/turnlog-store.ts";
import { type FoldReplay, replayFolds } from "../../src/replay/fold-replay.ts";

/** The fold replay of a conversation. */
export const replayed = (
  { log, codecs }: TurnlogStore,
  { id }: Pick<Conversation, "id">,
  options: { readonly to?: number } = {},
): Promise<FoldReplay> => replayFolds({ id, log, codecs }, options);
