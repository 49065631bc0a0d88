import { isJsonList, isJsonObject, type JsonObject, type JsonValue, objectsOf } from "../../base/json.ts";
import type { RequestParts } from "../../engine/ports/codec.ts";
import { markedForCache, type SentContent, unmarked } from "./cache-marks.ts";
import { isEmptyText } from "./content-parts.ts";
import { type Message, messagesOf } from "./messages.ts";
import { prefixOf } from "./messages-settings.ts";
import { withSystemMessages } from "./system-messages.ts";
import { asksForThreads } from "./threads.ts";

/** What the model reads in a request, with its cache breakpoints; undefined members are left out. */
export type RequestContent = {
  readonly tools: JsonValue | undefined;
  /** The system prompt of the settings, and the system blocks at the beginning of the conversation. */
  readonly system: JsonValue | undefined;
  readonly messages: readonly JsonObject[];
};

export function requestContent({ settings, input, anchor, details }: RequestParts): RequestContent {
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
