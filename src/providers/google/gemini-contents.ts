import { isJsonObject, type JsonObject, objectsOf, textOrEmpty } from "../../base/json.ts";
import { Block } from "../../domain/block.ts";
import type { Wire } from "../../domain/wire.ts";
import type { Draft, SentBlock } from "../../engine/ports/codec.ts";
import { draftsOf, keepParts, kindOfSpeaker, partsOf, resultDraft, userPart, verbatim } from "./gemini-parts.ts";

/** The placeholder that Gemini accepts for the signature of another model's call (Google's guide to thought signatures). */
const standInSignature = "skip_thought_signature_validator";

/**
 * Converts blocks to contents: consecutive blocks of one side are one content, and results are a content of their own, in the order of
 * their calls.
 */
export function contentsOf(
  blocks: readonly SentBlock[],
  { signs }: { readonly signs: boolean },
): readonly JsonObject[] {
  const contents: Content[] = [];
  const calls = new Map<string, CallPlace>();
  for (const { block, standIn = false } of blocks) {
    const { kind, callId, name } = block;
    if (kind === "tool_call" && callId !== null) calls.set(callId, { name: name ?? "", place: calls.size });
    const call = kind === "tool_result" && callId !== null ? calls.get(callId) : undefined;
    const parts = partsOf(block, call === undefined ? {} : { name: call.name });
    const sent = standIn ? parts.map((part) => unsigned(part, { signs })).filter(isSaid) : parts;
    const role = kindOfSpeaker(kind);
    const isResults = kind === "tool_result";
    let content = contents.at(-1);
    if (content?.role !== role || content.isResults !== isResults) {
      content = { role, isResults, parts: [] };
      contents.push(content);
    }
    content.parts.push(...sent.map((part) => ({ part, place: call?.place ?? 0 })));
  }
  return contents.map(({ role, isResults, parts }) => ({
    role,
    parts: (isResults ? parts.toSorted((left, right) => left.place - right.place) : parts).map(({ part }) => part),
  }));
}

type CallPlace = { readonly name: string; readonly place: number };
type Content = {
  readonly role: "user" | "model";
  readonly isResults: boolean;
  readonly parts: { readonly part: JsonObject; readonly place: number }[];
};

/** An empty text without its signature is dropped. */
const isSaid = ({ text }: JsonObject): boolean => text !== "";

/** The part without a foreign signature; a call that needs one gets the placeholder. */
function unsigned({ thoughtSignature: _, ...part }: JsonObject, { signs }: { readonly signs: boolean }): JsonObject {
  return signs && part["functionCall"] !== undefined ? { ...part, thoughtSignature: standInSignature } : part;
}

/**
 * Converts a history in Gemini's own form (`contents`) to blocks for `append`. Signatures and members unknown to turnlog are kept, and go
 * back unchanged to the endpoint of that scope.
 */
export function blocksOfContents(contents: readonly JsonObject[], { scope }: Pick<Wire, "scope">): readonly Block[] {
  const open: OpenCall[] = [];
  return contents.flatMap(({ role, parts }, n) => {
    const all = objectsOf(parts);
    const drafts = role === "model" ? draftsOf(all, `content_${n}`) : userDrafts(all, open);
    for (const { kind, payload } of drafts)
      if (kind === "tool_call") open.push({ id: textOrEmpty(payload["callId"]), name: textOrEmpty(payload["name"]) });
    return drafts.map(
      ({ kind, payload, wire }) =>
        new Block({ id: null, kind, payload, wire: wire == null ? null : { scope, ...wire } }),
    );
  });
}

type OpenCall = { readonly id: string; readonly name: string };

/** Adjacent texts, images and files are one message. */
function userDrafts(parts: readonly JsonObject[], open: OpenCall[]): readonly Draft[] {
  const drafts: Draft[] = [];
  let message: { readonly part: JsonObject; readonly own: JsonObject }[] = [];
  const finish = (): void => {
    const payload = { role: "user", content: message.map(({ own }) => own) };
    const given = message.map(({ part }) => part);
    if (message.length > 0) drafts.push(keepParts({ kind: "user", payload }, given));
    message = [];
  };
  for (const part of parts) {
    const own = userPart(part);
    if (own !== null) {
      message.push({ part, own });
      continue;
    }
    finish();
    drafts.push(answeredDraft(part, open) ?? verbatim(part));
  }
  finish();
  return drafts;
}

/** A result answers the call with its id, or the first open call with its name; null for other parts. */
function answeredDraft(part: JsonObject, open: OpenCall[]): Draft | null {
  const { functionResponse: response } = part;
  if (!isJsonObject(response) || typeof response["name"] !== "string") return null;
  const { id, name } = response;
  const place = open.findIndex((call) => (typeof id === "string" ? call.id === id : call.name === name));
  const [call] = place < 0 ? [] : open.splice(place, 1);
  const callId = typeof id === "string" ? id : call?.id;
  return callId === undefined ? null : resultDraft(part, callId);
}
