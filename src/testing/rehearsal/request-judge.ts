import {
  expectedReading,
  judge,
  type Reading,
  type ReferenceServer,
  readItems,
} from "@turnlog/reference-server/server";
import { isJsonList, isJsonObject, type JsonObject } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import type { Turn } from "../../domain/turn.ts";
import { defineMiddleware, type Layer } from "../../engine/ports/middleware.ts";
import type { Entry, Part, Role } from "./entries.ts";
import { expectedOf, leadingSystem } from "./expected.ts";
import { takesParts } from "./read-otherwise.ts";

/** Judges each request of an engine by what the model read. */
export type RequestJudge = {
  /** Put it last in `middleware`, so that it sees the Turn after all other layers. */
  readonly layer: Layer;
  /** How many requests were judged. */
  readonly judged: number;
  /**
   * How many requests were not judged, because their Turn holds something that the judge cannot express (hosted items, custom tools, images
   * in results, phases of messages, a file that may be on another server, a part that not all wires have a form for).
   */
  readonly unjudged: number;
  /** What each request got wrong, in one sentence with its number at the server; a test expects it to be empty. */
  readonly incoherences: readonly string[];
};

export type RequestJudgeOptions = {
  /** As the provider sets it. */
  readonly systemAs?: "input" | "instructions";
};

/**
 * A judge for tests of an agent: for every request that the reference server accepted, the model must have read the Turn
 * that left the last layer, by rules that share no code with the engine. It judges one run of one conversation at a time.
 */
export function createRequestJudge(
  server: Pick<ReferenceServer, "requests" | "reading" | "baseUrl">,
  { systemAs = "input" }: RequestJudgeOptions = {},
): RequestJudge {
  const counts = { judged: 0, unjudged: 0 };
  const incoherences: string[] = [];
  let next = server.requests.length;

  function judgeNew(turn: Turn): void {
    for (; next < server.requests.length; next += 1) {
      const reading = server.reading(next);
      if (reading === undefined) continue;
      const path = server.requests[next]?.path ?? "";
      const difference = differenceOf(turn.blocks, { reading, baseUrl: server.baseUrl, path }, systemAs);
      if (difference === undefined) {
        counts.unjudged += 1;
        continue;
      }
      counts.judged += 1;
      if (difference !== null) incoherences.push(`request ${next}: ${difference}`);
    }
  }

  return {
    layer: defineMiddleware({ name: "request-judge", version: "1.0.0" }, (next) => async (turn) => {
      try {
        return await next(turn);
      } finally {
        judgeNew(turn);
      }
    }),
    get judged() {
      return counts.judged;
    },
    get unjudged() {
      return counts.unjudged;
    },
    incoherences,
  };
}

type Heard = { readonly reading: Reading; readonly baseUrl: string; readonly path: string };

/** Null if the model read the blocks; undefined if that cannot be decided. */
function differenceOf(blocks: readonly Block[], heard: Heard, systemAs: string): string | null | undefined {
  const answers = new Map<string, number>();
  const lost = new Set<Entry>();
  const entries = blocks.map((block, place) => {
    const sent = withoutElsewhere(block, isKeptHere(blocks, place, heard));
    const entry = sent === null ? null : entryOf(sent, answers);
    if (entry?.kind !== "message") return entry;
    const taken = takenByResponses(entry);
    if (taken !== entry && !heard.path.endsWith("/responses")) return null;
    const isLost = taken === null || (entry.parts.length === 0 && block.parts.length > 0);
    if (isLost) lost.add(entry);
    return isLost ? entry : taken;
  });
  const known = entries.filter((entry) => entry !== null);
  if (known.length < entries.length) return undefined;
  const asked = systemAs === "instructions" ? known.slice(leadingSystem(known).length) : known;
  const lines = readItems(heard.reading.items, { instructions: null, tools: [] });
  // Encrypted reasoning is identified by its id, which the Turn's rules do not include.
  const isSealed = known.some((entry) => entry.kind === "reasoning" && entry.text === "");
  const expected = expectedReading(expectedOf(asked, { takes: (entry) => !lost.has(entry) }));
  const judgement = judge(expected, lines, { reasoning: isSealed ? "ignore" : "subset" });
  return judgement.coherent ? null : judgement.summary;
}

/** A message without files that another server keeps by id; null if their server is unknown. */
function withoutElsewhere(block: Block, isHere: boolean | null): Block | null {
  const left = block.parts.filter(({ fileId }) => typeof fileId !== "string");
  if (isHere === true || left.length === block.parts.length) return block;
  return isHere === null ? null : block.withPayload({ ...block.payload, content: left });
}

/** The Responses API accepts only texts and refusals from a model, and everything but refusals from others. */
const takenByResponses = takesParts(({ type }, role) =>
  role === "assistant" ? type === "text" || type === "refusal" : type !== "refusal",
);

/**
 * Whether this server keeps what a block names by an id. The endpoint in the block decides, else the first that answered after it;
 * before any answer, it goes to the endpoint that is asked. Null if that endpoint is another part, or account, of this server.
 */
function isKeptHere(blocks: readonly Block[], place: number, { baseUrl }: Heard): boolean | null {
  const answer = blocks
    .slice(place + 1)
    .find(({ kind, wire }) => wire !== null && !["user", "system", "tool_result"].includes(kind));
  const keeper = blocks[place]?.wire?.scope ?? answer?.wire?.scope;
  if (keeper === undefined) return true;
  const [, address = "", ...more] = keeper.split(" ");
  if (!URL.canParse(address) || new URL(address).origin !== new URL(baseUrl).origin) return false;
  return address === baseUrl && !more.some((each) => /^(organization|project)=./.test(each)) ? true : null;
}

function entryOf(block: Block, answers: Map<string, number>): Entry | null {
  const entry = saidBy(block);
  const group = block.wire?.group;
  if (entry === null || group === undefined) return entry;
  const answer = answers.get(group.id) ?? answers.size;
  answers.set(group.id, answer);
  return { ...entry, place: { answer, index: group.index, size: group.size } };
}

function saidBy(block: Block): Entry | null {
  const { kind, type, payload, callId, name } = block;
  switch (kind) {
    case "reasoning":
      return { kind, text: block.text };
    case "tool_call":
      return type === "function"
        ? { kind: "call", callId: callId ?? "", name: name ?? "", arguments: block.text }
        : null;
    case "tool_result": {
      const { output } = payload;
      if (type !== "function") return null;
      if (typeof output === "string") return { kind: "result", callId: callId ?? "", output };
      const texts = isJsonList(output) ? output.map((part) => (isJsonObject(part) ? part["text"] : null)) : [null];
      const said = texts.filter((text) => typeof text === "string");
      return said.length === texts.length ? { kind: "result", callId: callId ?? "", output: said } : null;
    }
    case "other":
      return null;
    default: {
      const parts = block.parts.map(partOf);
      const known = parts.filter((part) => part !== null);
      const role = roles.find((each) => each === block.role);
      const isTold = known.length === parts.length && role !== undefined && payload["phase"] === undefined;
      return !isTold ? null : { kind: "message", role, parts: known };
    }
  }
}

const roles: readonly Role[] = ["user", "system", "developer", "assistant"];

function partOf({ type, text, refusal, url, fileId, detail, data, name, audio }: JsonObject): Part | null {
  if (type === "text" && typeof text === "string") return { type, text };
  if (type === "refusal" && typeof refusal === "string") return { type, text: refusal };
  const source = [fileId, url, data].find((each) => typeof each === "string");
  if (type === "image" && source !== undefined)
    return { type, source, ...(typeof detail === "string" ? { detail } : {}) };
  if (type === "file" && source !== undefined)
    return { type, source, ...(typeof name === "string" ? { filename: name } : {}) };
  if (type !== "audio" || !isJsonObject(audio)) return null;
  const { data: sound, format } = audio;
  return typeof sound === "string" && typeof format === "string" ? { type, data: sound, format } : null;
}
