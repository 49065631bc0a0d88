import {
  expectedReading,
  functionCall,
  hosted,
  type JsonObject,
  judge,
  readItems,
  reasoning,
  type ScriptedItem,
  startReferenceServer,
} from "@turnlog/reference-server/server";
import { isJsonObject } from "../../base/json.ts";
import { TurnlogStore } from "../../conversation/turnlog-store.ts";
import { createMemoryStore } from "../../stores/memory/store.ts";
import type { ChatDocument } from "./chat-format.ts";
import type { Entry, Part } from "./entries.ts";
import type { RehearsalParts, RehearsalPlayer, RehearsalProvider, RehearsalServer } from "./ports.ts";
import { type RehearsalFigures, type RehearsalOptions, rehearse } from "./rehearse.ts";
import { type RehearsedProvider, rehearsedProviders } from "./rehearsed-providers.ts";

/**
 * The parts of a rehearsal: the reference server, which judges it, and a provider for one of the dialects that it speaks. For
 * several dialects, one of each, which hand the conversations over to one another.
 *
 * Without a store each conversation gets its own memory store, so that a long rehearsal needs no more memory than
 * its longest conversation.
 */
export function rehearsalParts(
  store: TurnlogStore | null,
  ...[first = "responses", ...others]: readonly RehearsalProvider[]
): RehearsalParts {
  return {
    ...playerOf(first),
    ...(others.length === 0 ? {} : { others: others.map(playerOf) }),
    openStore: async () => store ?? new TurnlogStore(createMemoryStore()),
    closeStore: async (opened) => {
      if (opened !== store) await opened.close();
    },
  };
}

function playerOf(name: RehearsalProvider): RehearsalPlayer {
  const played = rehearsedProviders[name];
  return {
    ...played,
    startServer: (answer) => startServer(played.showsReasoning === false ? withoutReasoning(answer) : answer, played),
    provider: ({ baseUrl }, transport) => played.provider(baseUrl, transport),
  };
}

type AnswerTo = (request: number) => readonly Entry[];

const withoutReasoning =
  (answer: AnswerTo): AnswerTo =>
  (request) =>
    answer(request).filter(({ kind }) => kind !== "reasoning");

/**
 * Plays recorded conversations, in the format of Chat Completions, through the real engine to a reference server, and judges every
 * request. By default, random edits come before a fifth of the requests.
 *
 * @throws {TurnlogError} for errors of a store; a failed run counts as incoherent.
 */
export const rehearseChats = (
  documents: Iterable<ChatDocument> | AsyncIterable<ChatDocument>,
  options: Partial<RehearsalOptions> = {},
): Promise<RehearsalFigures> =>
  rehearse(documents, rehearsalParts(null), {
    ...{ seed: "rehearsal", editRate: 0.2, edits: "all", mode: "chained", reasoning: true, parallel: true },
    ...options,
  });

async function startServer(
  answer: AnswerTo,
  { server: dialect, reads = (each) => each, readsAll = (all) => all, judging = {} }: RehearsedProvider,
): Promise<RehearsalServer> {
  const server = await startReferenceServer({
    ...dialect,
    // Ids are part of the bodies: with the same ids, the same rehearsal sends the same bytes.
    seed: "rehearsal",
    // All requests of a conversation are counted, then cleared.
    ...{ maxKept: Number.POSITIVE_INFINITY, maxKeptBytes: Number.POSITIVE_INFINITY },
    answer: ({ request }) => ({ output: answer(request).map(itemOf) }),
  });
  const isWarmUp = ({ body }: { readonly body: unknown }): boolean => isJsonObject(body) && body["generate"] === false;
  const asked = () => server.requests.filter((request) => isAsked(request) && !isWarmUp(request));
  const warmedUp = () => server.requests.filter((request) => isAsked(request) && isWarmUp(request));
  return {
    baseUrl: server.baseUrl,
    get requests() {
      return asked();
    },
    get warmUps() {
      return warmedUp();
    },
    get calls() {
      return server.requests.filter((request) => !isAsked(request));
    },
    difference(request, expected, kind) {
      const all = kind === "warmUps" ? warmedUp() : asked();
      const reading = server.reading(all[request]?.index ?? -1);
      if (reading === undefined) return undefined;
      const read = readsAll(expected)
        .map(reads)
        .filter((each) => each !== null);
      const judgement = judge(expectedReading(read), readItems(reading.items, reading), judging);
      return judgement.coherent ? null : judgement.summary;
    },
    clear: () => {
      server.clear();
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** All other requests are about conversation objects. */
const isAsked = ({ method, path }: { readonly method: string; readonly path: string }): boolean =>
  method === "POST" && !path.startsWith("/v1/conversations");

/** An entry as the script of a reference server. */
export function itemOf(entry: Entry): ScriptedItem {
  switch (entry.kind) {
    case "call":
      return functionCall(entry.name, entry.arguments, { callId: entry.callId });
    case "reasoning":
      return reasoning({ summary: entry.text });
    case "message":
      return hosted({
        type: "message",
        status: "completed",
        content: entry.parts.map(outputPart),
        role: "assistant",
      });
    case "result": {
      const { callId, output } = entry;
      const parts = typeof output === "string" ? output : output.map((text) => ({ type: "input_text", text }));
      return hosted({ type: "function_call_output", call_id: callId, output: parts });
    }
  }
}

function outputPart(part: Part): JsonObject {
  if (part.type === "text") return { type: "output_text", annotations: [], logprobs: [], text: part.text };
  if (part.type === "refusal") return { type: "refusal", refusal: part.text };
  throw new Error(`a model does not answer with a part of type ${part.type}`);
}
