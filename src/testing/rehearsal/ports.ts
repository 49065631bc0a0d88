import type { TurnlogStore } from "../../conversation/turnlog-store.ts";
import type { Provider } from "../../engine/ports/provider.ts";
import type { Entry } from "./entries.ts";
import type { Expected } from "./expected.ts";

/** A server that plays answers, keeps state as a real one does, and reports what its model read. */
export interface RehearsalServer extends AsyncDisposable {
  /** Its address for providers, with `/v1`. */
  readonly baseUrl: string;
  /** Every request for an answer since the last `clear`, including rejected ones. */
  readonly requests: readonly { readonly bodyText: string; readonly status: number }[];
  /** Requests since then that asked for no answer, but prepared the context of the next one. */
  readonly warmUps: readonly { readonly bodyText: string; readonly status: number }[];
  /** The other requests since then, about conversation objects. */
  readonly calls: readonly { readonly method: string; readonly path: string; readonly bodyText: string }[];
  /**
   * How what the model read differs from what it should have read, in one sentence; null if it does not, undefined
   * if there was no inference. The number is an index in `requests`, or in those of the given kind.
   */
  difference(request: number, expected: readonly Expected[], kind?: "warmUps"): string | null | undefined;
  /** Forgets everything, so that the next conversation starts fresh. */
  clear(): void;
}

/** How the requests of a rehearsal are sent. */
export type RehearsalTransport = (typeof rehearsalTransports)[number];

export const rehearsalTransports = ["json", "sse", "websocket"] as const;

/** The providers for rehearsals, by their name on the command line. */
export const rehearsalProviders = [
  "responses",
  "chat",
  ...(["chat-openai", "chat-deepseek", "chat-mistral", "chat-groq", "chat-llama.cpp", "chat-ollama"] as const),
  "ai-sdk",
  "ollama",
  "google",
  "google-interactions",
  "anthropic",
  "claude-cli",
  "anthropic-threads",
] as const;

export type RehearsalProvider = (typeof rehearsalProviders)[number];

/** The properties of a provider in a rehearsal. */
export interface PlayerTraits {
  /** The model runs its own tools: calls and their results come with its answer. */
  readonly hasOwnTools?: true;
  /** False if the server shows no reasoning: then none is added to its answers. */
  readonly showsReasoning?: false;
  /** The part of an entry that it receives, without parts that its wire has no form for. Null: nothing. Default: all of it. */
  readonly takes?: (entry: Entry) => Entry | null;
  /** The recorded form of an entry that the model answered, if the dialect changes it. */
  readonly records?: (answered: Entry) => readonly Entry[];
}

/** A player: a server, and a provider for it. */
export interface RehearsalPlayer extends PlayerTraits {
  /** `answer` returns the model's answer to the n-th request since `clear`; it throws if there is none. */
  startServer(answer: (request: number) => readonly Entry[]): Promise<RehearsalServer>;
  /** A provider for that server. */
  provider(server: RehearsalServer, transport: RehearsalTransport): Provider;
}

/** The parts of a rehearsal, assembled on a floor that may import servers, providers and stores. */
export interface RehearsalParts extends RehearsalPlayer {
  /** Other players: then each conversation is handed over between some of them, at random requests. */
  readonly others?: readonly RehearsalPlayer[];
  /** The store of one conversation; always the same one, or a new one. */
  openStore(): Promise<TurnlogStore>;
  closeStore(store: TurnlogStore): Promise<void>;
}
