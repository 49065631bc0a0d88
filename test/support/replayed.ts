import { conversationStream } from "../../src/domain/ids.ts";
import type { Conversation } from "../../src/engine/conversation.ts";
import { type FoldReplay, replayFolds } from "../../src/engine/replay/fold-replay.ts";
import type { TurnlogStore } from "../../src/engine/turnlog-store.ts";
import { codecs } from "../../src/providers/codecs.ts";

/** The fold replay of a conversation. */
export const replayed = (
  { log }: TurnlogStore,
  { id }: Pick<Conversation, "id">,
  options: { readonly to?: number } = {},
): Promise<FoldReplay> => replayFolds(log, conversationStream(id), { codecs, ...options });
