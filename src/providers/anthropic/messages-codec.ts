import { type JsonObject, type JsonValue, setMember } from "../../base/json.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { Block } from "../../domain/block.ts";
import { user } from "../../domain/make-block.ts";
import type { GroupPlace, PlannedParts, Prompt, RequestParts } from "../../engine/ports/codec.ts";
import { comparedDetails, comparedId, diagnosticsLesson, diagnosticsSetting } from "../caching/asked-diagnosis.ts";
import { brokenGroupRule, defineCodec, offer } from "../codec/define-codec.ts";
import { keptByGoogle } from "../codec/google-files.ts";
import { cacheDetails } from "./cache-marks.ts";
import { containerDetails, containerFor, hasServerTools } from "./container.ts";
import { contentsOf, isSaidAsJson, partRefusalIn, refusalOf } from "./content-blocks.ts";
import { isEmptyText } from "./content-parts.ts";
import { countsIn } from "./message-counts.ts";
import { readAnswer, writeAnswer } from "./messages-answer.ts";
import { adjust, instruct } from "./messages-settings.ts";
import { requestContent } from "./request-content.ts";
import { restated } from "./system-messages.ts";
import { anchors, marksOnThreads, threadFor, threadMarksLesson, unstored } from "./threads.ts";

/**
 * Converts the Messages API (Anthropic's API reference) to blocks and back. A block is one content block, except that consecutive parts of
 * the user are one block. Messages are made from adjacent blocks; what has no place in a payload is kept in the residue.
 */
export const messagesCodec = defineCodec({
  name: "anthropic-messages/1",
  resultsStandTogether: true,
  callIdFor,
  ...{ instruct, adjust, anchors, unstored },
  restated: (block, before) => (isSaidAsJson(block) ? "result-as-json" : restated(block, before)),
  // A server that turned out to have no threads is not asked for one.
  offer: (settings, offered) => offer(offered.capabilities.chain === true ? settings : unstored(settings), offered),
  prompt: { isNeeded: asksForUser, block: user("Continue.") },
  unsendableReason: (block: Block) => refusalOf(block),
  unsendablePart: (part: JsonObject, { kind }: Block) => keptByGoogle(part) ?? partRefusalIn(kind, part),
  mayPause: hasServerTools,
  // Only the answer that continues it can close an open call of a server's tool.
  brokenGroupRule: (block: Block, place: GroupPlace) =>
    place.isLeftPaused && place.next === undefined && isServerCall(block) ? "paused" : brokenGroupRule(block, place),
  detailsOf(planned: PlannedParts) {
    const details = { ...cacheDetails(planned), ...containerDetails(planned), ...comparedDetails(planned) };
    return Object.keys(details).length === 0 ? undefined : details;
  },
  lessonOf: (refusal, settings) =>
    threadMarksLesson(refusal, settings) ?? diagnosticsLesson(refusal, settings, "diagnostics"),
  ...{ encodeRequest, readAnswer, writeAnswer, countsIn },
});

/** Ids of calls are letters, digits, `_` and `-` (Anthropic's API reference); those of other providers may have more. */
function callIdFor(callId: string): string {
  return /^[a-zA-Z0-9_-]+$/.test(callId) ? callId : `toolu_${sha256Hex(`turnlog/call/v1\n${callId}`).slice(0, 24)}`;
}

/** The members of a body that are not settings. */
export const ownMembers: ReadonlySet<string> = new Set(["messages", "stream", "thread"]);

/** Settings that a body has in another form, at its end or not at all. */
export const rewrittenMembers = [
  ...(["instructions", "tools", "threads", "cache"] as const),
  ...[marksOnThreads, diagnosticsSetting],
] as const;

function encodeRequest(parts: RequestParts): string {
  const { settings, anchor, transport } = parts;
  const { tools, system, messages } = requestContent(parts);
  const body: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(settings)) {
    if (ownMembers.has(name)) throw new Error(`settings cannot hold ${name}: the engine decides it`);
    const isRewritten = rewrittenMembers.some((each) => each === name);
    if (value !== undefined && !isRewritten) setMember(body, name, value);
  }
  if (tools !== undefined) body["tools"] = tools;
  if (system !== undefined) body["system"] = system;
  body["messages"] = messages;
  const container = containerFor(settings, parts.details);
  if (container !== undefined) body["container"] = container;
  const compared = comparedId(parts.details);
  if (compared !== undefined) body["diagnostics"] = { previous_message_id: compared };
  if (transport === "sse") body["stream"] = true;
  const thread = threadFor(settings, anchor);
  if (thread !== null) body["thread"] = thread;
  return JSON.stringify(body);
}

/** Models that continue a message whose beginning the request sends; all later ones refuse that. */
const takesPrefill = /^claude-(3|(opus|sonnet|haiku)-4(-[015])?(-\d{8})?$)/;

/**
 * The API requires a user message after the model's, and where there is only the system prompt. A paused answer with an open call of a
 * server's tool is continued as it is. Empty messages do not count.
 */
function asksForUser(
  sent: readonly Block[],
  { settings: { model }, isContinued }: Parameters<Prompt["isNeeded"]>[1],
): boolean {
  const last = sent.findLast((block) => block.kind !== "assistant" || contentsOf(block).some(says));
  if (last === undefined || (!isContinued && sent.every(({ kind }) => kind === "system"))) return true;
  if (typeof model === "string" && takesPrefill.test(model)) return false;
  return last.kind === "assistant" || last.kind === "reasoning" || last.kind === "tool_call";
}

const isServerCall = ({ kind, payload: { type } }: Block): boolean =>
  kind === "other" && (type === "server_tool_use" || type === "mcp_tool_use");

const says = (content: JsonObject): boolean => !isEmptyText(content);
