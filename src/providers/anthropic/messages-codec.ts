import { isJsonList, isJsonObject, type JsonObject, type JsonValue, objectsOf, setMember } from "../../base/json.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { Block } from "../../domain/block.ts";
import { user } from "../../domain/make-block.ts";
import type { GroupPlace, PlannedParts, Prompt, RequestParts, Settings } from "../../engine/ports/codec.ts";
import { comparedDetails, comparedId, diagnosticsLesson, diagnosticsSetting } from "../caching/asked-diagnosis.ts";
import { brokenGroupRule, defineCodec, offer } from "../codec/define-codec.ts";
import { keptByGoogle } from "../codec/google-files.ts";
import { cacheDetails, markedForCache, type SentContent, unmarked } from "./cache-marks.ts";
import { containerIn, contentsOf, isSaidAsJson, partRefusalIn, refusalOf } from "./content-blocks.ts";
import { isEmptyText } from "./content-parts.ts";
import { countsIn } from "./message-counts.ts";
import { type Message, messagesOf } from "./messages.ts";
import { readAnswer, writeAnswer } from "./messages-answer.ts";
import { adjust, instruct, prefixOf } from "./messages-settings.ts";
import { restated, withSystemMessages } from "./system-messages.ts";
import { anchors, asksForThreads, marksOnThreads, threadFor, threadMarksLesson, unstored } from "./threads.ts";

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

/** What the model reads in a request, with its cache breakpoints; undefined members are left out. */
type RequestContent = {
  readonly tools: JsonValue | undefined;
  /** The system prompt of the settings, and the system blocks at the beginning of the conversation. */
  readonly system: JsonValue | undefined;
  readonly messages: readonly JsonObject[];
};

function requestContent({ settings, input, anchor, details }: RequestParts): RequestContent {
  const blocks = input.map(({ block }) => block);
  const leading = blocks.findIndex(({ kind }) => kind !== "system");
  // After the content of a thread they are not at the beginning of the conversation.
  const first = anchor !== null ? 0 : leading < 0 ? blocks.length : leading;
  // The thread that is continued has them already.
  const { system: own, tools } = anchor === null ? prefixOf(settings) : {};
  // Threads refuse the breakpoints that blocks came with; if turnlog sets breakpoints, it sets all of them.
  const isBare = anchor !== null || asksForThreads(settings) || details?.["cache"] !== undefined;
  const sentOf = ({ content, places }: Message, from = 0): SentContent =>
    (isBare ? unmarked(content) : content).map((said, at) => ({ said, place: from + (places[at] ?? 0) }));

  const messages = messagesOf(withSystemMessages(blocks.slice(first), settings));
  const offered = isJsonList(tools) && tools.every(isJsonObject) ? tools : [];
  const [sentTools = [], sentSystem = [], ...sent] = markedForCache(
    [
      offered.map(ofSettings),
      [...textsOf(own).map(ofSettings), ...messagesOf(blocks.slice(0, first)).flatMap((message) => sentOf(message))],
      ...messages.map((message) => sentOf(message, first)),
    ],
    settings,
    details,
  );
  const system = wordsOf(sentSystem);
  const isText = first === 0 && typeof own === "string" && system[0]?.["cache_control"] === undefined;
  return {
    tools: offered.length === 0 ? tools : sentTools.map(({ said }) => said),
    system: system.length === 0 ? undefined : isText ? own : system,
    messages: messages
      .map(({ role, residue }, n) => ({ role, content: wordsOf(sent[n] ?? []), ...residue.set }))
      .filter(({ content }) => content.length > 0),
  };
}

/** Content of the settings comes before all blocks. */
const ofSettings = (said: JsonObject): SentContent[number] => ({ said, place: -1 });

const textsOf = (system: JsonValue | undefined): readonly JsonObject[] =>
  typeof system === "string" ? [{ type: "text", text: system }] : objectsOf(system);

/** The API refuses empty texts. */
const wordsOf = (sent: SentContent): readonly JsonObject[] =>
  sent.flatMap(({ said }) => (isEmptyText(said) ? [] : [said]));

/**
 * The container that a request names so that code there can continue: the newest that an answer named since the user last spoke. A
 * container in the settings takes precedence.
 */
function containerDetails({ settings, said }: PlannedParts): JsonObject | undefined {
  if (namesContainer(settings)) return undefined;
  const container = said.map(containerIn).findLast((id) => id !== null);
  return container == null ? undefined : { container };
}

/** The container of a request body, with the skills from the settings. */
function containerFor({ container }: Settings, details: JsonObject | undefined): JsonValue | undefined {
  const id = details?.["container"];
  if (typeof id !== "string") return container;
  return isJsonObject(container) ? { ...container, id } : id;
}

const namesContainer = ({ container }: Settings): boolean =>
  typeof container === "string" || (isJsonObject(container) && typeof container["id"] === "string");

/** Whether tools run on the server, so that it may pause an answer while they work; those tools have a type of their own. */
function hasServerTools({ tools, mcp_servers: servers }: Settings): boolean {
  const isOfServer = ({ type }: JsonObject): boolean => typeof type === "string" && type !== "custom";
  return objectsOf(tools).some(isOfServer) || (isJsonList(servers) && servers.length > 0);
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
