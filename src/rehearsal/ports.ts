import type { TurnlogStore } from "../conversation/turnlog-store.ts";
import type { Provider } from "../engine/stack/provider.ts";
import type { Entry } from "./entries.ts";
import type { Expected } from "./expected.ts";

/** A server that plays answers, keeps state as a real one does, and tells what its model read. */
export interface RehearsalServer extends AsyncDisposable {
  /** Where it is, as providers want it: with `/v1`. */
  readonly baseUrl: string;
  /** Every request for an answer that arrived since the last `clear`, refused ones included. */
  readonly requests: readonly { readonly bodyText: string; readonly status: number }[];
  /** Requests since then that asked for no answer, but for what the next one continues from to be held. */
  readonly warmUps: readonly { readonly bodyText: string; readonly status: number }[];
  /** The others since then: what was asked of conversation objects. */
  readonly calls: readonly { readonly method: string; readonly path: string; readonly bodyText: string }[];
  /**
   * Where what the model read differs from what it was meant to read, in one sentence; null where it does not, undefined
   * where there was no inference. A number counts `requests`, or those of the kind that is named.
   */
  difference(request: number, expected: readonly Expected[], kind?: "warmUps"): string | null | undefined;
  /** Forgets everything, so that the next conversation finds it new. */
  clear(): void;
}

/** How the requests of a rehearsal are sent. */
export type RehearsalTransport = (typeof rehearsalTransports)[number];

export const rehearsalTransports = ["json", "sse", "websocket"] as const;

/** The providers that rehearsals are played with, by the name that the command line has for them. */
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

/** What is known of a provider that a rehearsal asks. */
export interface PlayerTraits {
  /** The model runs its tools by itself: calls and their results come with its answer. */
  readonly hasOwnTools?: true;
  /** False where the server shows no reasoning: none is added to its answers. */
  readonly showsReasoning?: false;
  /** What it is told of an entry: parts that have no form on its wire are left out. Null: nothing; all of it when absent. */
  readonly takes?: (entry: Entry) => Entry | null;
  /** What is on record of a thing that the model answered, where the dialect says it otherwise. */
  readonly records?: (answered: Entry) => readonly Entry[];
}

/** Whom a rehearsal asks: a server, and a provider that speaks to it. */
export interface RehearsalPlayer extends PlayerTraits {
  /** `answer` gives what the model says to the n-th request since `clear`; it throws where there is nothing to say. */
  startServer(answer: (request: number) => readonly Entry[]): Promise<RehearsalServer>;
  /** A provider that speaks to that server. */
  provider(server: RehearsalServer, transport: RehearsalTransport): Provider;
}

/** What a rehearsal is played with, put together by a floor that may know servers, providers and stores. */
export interface RehearsalParts extends RehearsalPlayer {
  /** Who takes part besides: then each conversation is handed over between some of them, at random requests. */
  readonly others?: readonly RehearsalPlayer[];
  /** The store of one conversation; the same one every time, or a new one. */
  openStore(): Promise<TurnlogStore>;
  closeStore(store: TurnlogStore): Promise<void>;
}
