import { isLong, isRound, partOf } from "../cases.ts";
import { hasPostgres } from "../stores/postgres-server.ts";
import { runningServers } from "../stores/running-server.ts";
import type { Served } from "./killed-world.ts";

const warmedUp = { transport: "websocket", isStored: false, isWarm: true } as const satisfies Served;

type Kind = readonly [name: string, served: Served, everyNth: number];

/** Where there is little time: the first stop of each kind, and in a round one of so many besides. */
export const ofEachKind = 4;

/** Of how many stops one is enough where there is the least time. */
const few = 40;

/** How the model is asked, by where its log is; of so many stops one in a round of CI, where another round plays others. */
const listed: readonly Kind[] = [
  ["sqlite", {}, ofEachKind],
  ["sqlite, over SSE", { transport: "sse" }, few],
  ["sqlite, over WebSocket", { transport: "websocket", isStored: false }, 5],
  ["sqlite, over WebSocket, stored", { transport: "websocket" }, few],
  ["sqlite, over WebSocket, stateless", { transport: "websocket", mode: "stateless", isStored: false }, few],
  ["sqlite, in mode conversation", { mode: "conversation" }, 5],
  ["sqlite, in mode conversation over SSE", { mode: "conversation", transport: "sse" }, few],
  ["sqlite, in mode stateless", { mode: "stateless" }, few],
  ["sqlite, in mode auto", { mode: "auto" }, few],
  ["sqlite, in another dialect", { dialect: "toy" }, 10],
  ["sqlite, in Chat Completions", { dialect: "chat" }, 10],
  ["sqlite, in the Messages API", { dialect: "anthropic" }, few],
  ["sqlite, in message threads", { dialect: "anthropic-threads" }, few],
  ["sqlite, by Gemini", { dialect: "google" }, few],
  ["sqlite, by Interactions", { dialect: "google-interactions" }, few],
  ["sqlite, by Ollama", { dialect: "ollama" }, few],
  ["sqlite, by the AI SDK", { dialect: "ai-sdk" }, few],
  ["sqlite, by the Claude CLI", { dialect: "claude-cli" }, few],
  ["eventstoredb", {}, 5],
  ["an unkind eventstoredb", {}, 10],
  ...(hasPostgres ? [["postgres", {}, 10] as const] : []),
  // Every stop of a warm-up is met in a test of its own.
  ...(isLong ? [["sqlite, over WebSocket, warmed up", warmedUp, 1] as const] : []),
  ...runningServers.map(() => ["the server of TURNLOG_TEST_ESDB", {}, 5] as const),
];

/** Further worlds of `npm test`: a log on a server, a connection that stays, a model that is continued once, and one that is a process. */
const further: ReadonlySet<string> = new Set([
  ...["eventstoredb", "sqlite, over WebSocket", "sqlite, in message threads", "sqlite, by the Claude CLI"],
]);

/** `npm test` plays each kind of stop on the first, and a few on the further ones; a round plays many, on all. */
const kinds: readonly Kind[] =
  isLong || isRound
    ? listed
    : listed
        .filter(([name, , everyNth]) => everyNth === ofEachKind || further.has(name))
        .map(([name, served, everyNth]) => [name, served, everyNth === ofEachKind ? everyNth : few]);

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
  Array.from({ length: count }, (_, n) => n).filter((n) => isLong || n % everyNth === partOf(everyNth));

/** The stops of a run by their kinds, or some of them where there is little time. */
export function sampled(kinds: readonly string[], everyNth: number): readonly number[] {
  if (isLong) return [...kinds.keys()];
  const isFirst = (n: number): boolean => everyNth === ofEachKind && kinds.indexOf(kinds[n] ?? "") === n;
  // At the first stop nothing has begun, so that the first part is not the one with it.
  const part = (partOf(everyNth) + Math.floor(everyNth / 4)) % everyNth;
  const isDrawn = (n: number): boolean => (isRound || everyNth !== ofEachKind) && n % everyNth === part;
  return [...kinds.keys()].filter((n) => isFirst(n) || isDrawn(n));
}
