import { type Mode, modes } from "../engine/stack/chain-policy.ts";
import { createEngine, type EngineConfig } from "../engine/stack/create-engine.ts";
import { modeProblem } from "../engine/stack/engine-checks.ts";
import type { Provider } from "../engine/stack/provider.ts";
import type { ChatDocument } from "./chat-format.ts";
import type { EditOptions } from "./edits.ts";
import type { Entry } from "./entries.ts";
import { type PlayOptions, playOf } from "./exchanges.ts";
import { type Counts, type Incoherence, playConversation } from "./play.ts";
import type { RehearsalParts, RehearsalTransport } from "./ports.ts";
import { editingLayer, emptyStage, measuringLayer } from "./stage.ts";

export type RehearsalOptions = PlayOptions &
  EditOptions & {
    /** How requests are sent. */
    readonly mode: Mode;
    /** Over WebSocket nothing is stored: requests continue from what their connection remembers. */
    readonly transport?: RehearsalTransport | undefined;
    /** Other modes that the endpoint can do take its place at random requests. */
    readonly switchModes?: boolean;
    /** For tests: a clock and ids that repeat. */
    readonly sources?: Pick<EngineConfig, "clock" | "newId">;
    readonly signal?: AbortSignal;
    readonly onIncoherence?: (incoherence: Incoherence) => void;
    /** After each conversation, with how many there were. */
    readonly onConversation?: (done: number) => void;
  };

/** What a rehearsal came to. Bytes are of UTF-8 request bodies, without headers. */
export type RehearsalFigures = {
  /** As it was asked for. */
  readonly mode: Mode;
  readonly transport: RehearsalTransport;
  /** How often a request was sent in another mode than the one before it. */
  readonly switches: number;
  readonly conversations: number;
  /** Bodies sent, refused ones included. */
  readonly requests: number;
  readonly chained: number;
  readonly rebased: number;
  readonly full: number;
  /** What was asked of conversation objects besides: made, listed, items deleted. */
  readonly objectCalls: number;
  readonly coherent: number;
  /** Requests that read something else, were refused, missing, one too many, or not judged. */
  readonly incoherent: number;
  readonly bytesSent: number;
  /** The same requests, planned full. */
  readonly bytesFull: number;
  /** The same requests, planned with the newest response as the only candidate. */
  readonly bytesLastOnly: number;
  readonly events: number;
  readonly seconds: number;
};

/**
 * Plays recorded conversations through the real engine, over HTTP or WebSocket, with random edits, and has every request judged: what
 * the model read is held against the source document with the same edits, by rules that share no code with the engine.
 *
 * @throws what the store throws, and when the signal aborts; what a run fails with counts as incoherent.
 */
export async function rehearse(
  documents: AsyncIterable<ChatDocument> | Iterable<ChatDocument>,
  parts: RehearsalParts,
  options: RehearsalOptions,
): Promise<RehearsalFigures> {
  const {
    mode,
    transport = "sse",
    switchModes = false,
    signal = new AbortController().signal,
    onIncoherence = () => undefined,
  } = options;
  const began = performance.now();
  let answers: readonly (readonly Entry[])[] = [];
  await using server = await parts.startServer((request) => {
    const answer = answers[request];
    if (answer === undefined) throw new Error(`the document has no answer ${request}`);
    return answer;
  });
  const stage = emptyStage();
  const provider = parts.provider(server, transport);
  const middleware = [editingLayer(stage), measuringLayer(stage, provider)];
  await using engine = createEngine({ provider, mode, middleware, ...options.sources });
  const counts: Counts = { ...noCounts };
  let conversations = 0;
  for await (const document of documents) {
    const play = playOf(document, { ...options, hasOwnTools: parts.hasOwnTools ?? false });
    answers = play.exchanges.map(({ answer }) => answer);
    const store = await parts.openStore();
    try {
      const conversation = store.conversation();
      const modes = switchModes ? modesOf(provider) : null;
      const shared = { modes, stage, engine, server, counts, edits: options, signal, onIncoherence };
      await playConversation({ conversation, document, play, ...shared });
    } finally {
      await parts.closeStore(store);
    }
    server.clear();
    conversations += 1;
    options.onConversation?.(conversations);
  }
  const { bytesFull, bytesLastOnly } = stage;
  const seconds = Math.round(performance.now() - began) / 1000;
  const { requests, chained, rebased, full, coherent, incoherent, bytesSent, events, switches, objectCalls } = counts;
  return {
    ...{ mode, transport, switches },
    ...{ conversations, requests, chained, rebased, full, objectCalls, coherent, incoherent },
    ...{ bytesSent, bytesFull, bytesLastOnly, events, seconds },
  };
}

const noCounts: Counts = {
  requests: 0,
  chained: 0,
  rebased: 0,
  full: 0,
  coherent: 0,
  incoherent: 0,
  bytesSent: 0,
  events: 0,
  switches: 0,
  objectCalls: 0,
};

/** The modes that a rehearsal switches between: those that the endpoint can do. */
function modesOf(provider: Provider): readonly [Mode, ...Mode[]] {
  return ["auto", ...modes.filter((mode) => mode !== "auto" && modeProblem(mode, provider) === null)];
}
