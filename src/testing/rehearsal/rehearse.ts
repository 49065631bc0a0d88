import type { Mode } from "../../engine/options/chain-policy.ts";
import type { EngineConfig } from "../../engine/options/create-engine.ts";
import { castOf, openPlayers } from "./cast.ts";
import type { ChatDocument } from "./chat-format.ts";
import type { EditOptions } from "./edits.ts";
import type { Entry } from "./entries.ts";
import { type PlayOptions, playOf } from "./exchanges.ts";
import { type Incoherence, noCounts, playConversation, type RehearsalCounts } from "./play.ts";
import type { RehearsalParts, RehearsalTransport } from "./ports.ts";
import { emptyStage } from "./stage.ts";

export type RehearsalOptions = PlayOptions &
  EditOptions & {
    /** How requests are sent. */
    readonly mode: Mode;
    /** Over WebSocket nothing is stored: requests continue from what their connection remembers. */
    readonly transport?: RehearsalTransport | undefined;
    /** Uses other modes that the endpoint supports at random requests. */
    readonly switchModes?: boolean;
    /** The fraction of requests, from 0 to 1, before which a new connection is warmed up; over WebSocket only. */
    readonly warmUpRate?: number;
    /** For tests: a repeatable clock and ids. */
    readonly sources?: Pick<EngineConfig, "clock" | "newId">;
    readonly signal?: AbortSignal;
    readonly onIncoherence?: (incoherence: Incoherence) => void;
    /** Called after each conversation, with the number so far. */
    readonly onConversation?: (done: number) => void;
  };

/** The result of a rehearsal. Bytes are those of UTF-8 request bodies, without headers. */
export type RehearsalFigures = Readonly<RehearsalCounts> & {
  /** The requested mode. */
  readonly mode: Mode;
  readonly transport: RehearsalTransport;
  readonly conversations: number;
  /** The same requests, each planned in full. */
  readonly bytesFull: number;
  /** The same requests, planned with the newest response as the only candidate. */
  readonly bytesLastOnly: number;
  readonly seconds: number;
};

/**
 * Plays recorded conversations through the real engine, over HTTP or WebSocket, with random edits, and judges every request: what
 * the model read is compared with the source document after the same edits, by rules that share no code with the engine.
 *
 * @throws errors of the store, and the signal's reason when it aborts; a failed run counts as incoherent.
 */
export async function rehearse(
  documents: AsyncIterable<ChatDocument> | Iterable<ChatDocument>,
  parts: RehearsalParts,
  options: RehearsalOptions,
): Promise<RehearsalFigures> {
  const { mode, transport = "sse", warmUpRate = 0, onIncoherence = () => undefined } = options;
  const { signal = new AbortController().signal } = options;
  const began = performance.now();
  let answers: readonly (readonly Entry[])[] = [];
  let answered = 0;
  const answer = (): readonly Entry[] => {
    const said = answers[answered];
    if (said === undefined) throw new Error(`the document has no answer ${answered}`);
    answered += 1;
    return said;
  };
  const stage = emptyStage();
  await using players = await openPlayers(parts, { ...options, answer, stage });
  const counts = noCounts();
  let conversations = 0;
  for await (const document of documents) {
    const cast = castOf(players.all, options.seed, document.id);
    const play = playOf(document, { ...options, hasOwnTools: parts.hasOwnTools });
    answers = play.exchanges.map(({ answer }) => answer);
    answered = 0;
    const store = await parts.openStore();
    try {
      const conversation = store.conversation();
      const shared = { cast, stage, counts, edits: options, warmUpRate, signal, onIncoherence };
      await playConversation({ conversation, document, play, ...shared });
    } finally {
      await parts.closeStore(store);
    }
    for (const { server } of players.all) server.clear();
    conversations += 1;
    options.onConversation?.(conversations);
  }
  const { bytesFull, bytesLastOnly } = stage;
  const seconds = Math.round(performance.now() - began) / 1000;
  return { mode, transport, conversations, ...counts, bytesFull, bytesLastOnly, seconds };
}
