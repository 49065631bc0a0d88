import { isLong } from "../cases.ts";
import { runningServers } from "../stores/running-server.ts";
import type { Served } from "./killed-world.ts";

const warmedUp = { transport: "websocket", isStored: false, isWarm: true } as const satisfies Served;

type Kind = readonly [name: string, served: Served, everyNth: number];

/** Where there is little time: of so many stops one, and the first of each kind. */
export const ofEachKind = 4;

/** How the model is asked, by where its log is; of so many stops one where there is little time. */
const kinds: readonly Kind[] = [
  ["sqlite", {}, ofEachKind],
  ["sqlite, over SSE", { transport: "sse" }, 40],
  ["sqlite, over WebSocket", { transport: "websocket", isStored: false }, 5],
  ["sqlite, over WebSocket, stored", { transport: "websocket" }, 40],
  ["sqlite, over WebSocket, stateless", { transport: "websocket", mode: "stateless", isStored: false }, 40],
  ["sqlite, in mode conversation", { mode: "conversation" }, 5],
  ["sqlite, in mode conversation over SSE", { mode: "conversation", transport: "sse" }, 40],
  ["sqlite, in mode stateless", { mode: "stateless" }, 40],
  ["sqlite, in mode auto", { mode: "auto" }, 40],
  ["sqlite, in another dialect", { dialect: "toy" }, 10],
  ["sqlite, in Chat Completions", { dialect: "chat" }, 10],
  ["sqlite, in the Messages API", { dialect: "anthropic" }, 40],
  ["sqlite, in message threads", { dialect: "anthropic-threads" }, 40],
  ["sqlite, by Gemini", { dialect: "google" }, 40],
  ["sqlite, by Interactions", { dialect: "google-interactions" }, 40],
  ["sqlite, by Ollama", { dialect: "ollama" }, 40],
  ["sqlite, by the AI SDK", { dialect: "ai-sdk" }, 40],
  ["sqlite, by the Claude CLI", { dialect: "claude-cli" }, 40],
  ["eventstoredb", {}, 5],
  ["an unkind eventstoredb", {}, 10],
  // Every stop of a warm-up is met in a test of its own.
  ...(isLong ? [["sqlite, over WebSocket, warmed up", warmedUp, 1] as const] : []),
  ...runningServers.map(() => ["the server of TURNLOG_TEST_ESDB", {}, 5] as const),
];

type Group = { readonly names: string; readonly kinds: readonly Kind[]; readonly everyNth: number };

/** Runs that share the processes they are killed in, each of which ends when all are held: where there is time, none does. */
export const groups: readonly Group[] = [
  ...Map.groupBy(kinds, ([name, , everyNth]) => (isLong ? name : everyNth)).values(),
].map((kinds) => ({
  names: kinds.map(([name]) => name).join("; "),
  kinds,
  everyNth: kinds[0]?.[2] ?? 1,
}));

/** All of the numbers, or every n-th of them where there is little time. */
export const everyNthOf = (count: number, everyNth: number): readonly number[] =>
  Array.from({ length: count }, (_, n) => n).filter((n) => isLong || n % everyNth === 0);

/** The stops of a run by their kinds, or some of them where there is little time. */
export function sampled(kinds: readonly string[], everyNth: number): readonly number[] {
  const isFirst = (n: number): boolean => everyNth === ofEachKind && kinds.indexOf(kinds[n] ?? "") === n;
  return [...kinds.keys()].filter((n) => isLong || n % everyNth === 0 || isFirst(n));
}
