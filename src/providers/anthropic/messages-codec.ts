import { isJsonList, isJsonObject, type JsonObject, type JsonValue, setMember } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import type { RequestParts, Settings } from "../../engine/stack/codec.ts";
import { defineCodec } from "../define-codec.ts";
import { kindOf, refusalOf } from "./content-blocks.ts";
import { isEmptyText } from "./content-parts.ts";
import { type Message, messagesOf } from "./messages.ts";
import { readAnswer, writeAnswer } from "./messages-answer.ts";
import { adjust, instruct, prefixOf } from "./messages-settings.ts";
import { restated, withSystemMessages } from "./system-messages.ts";

/**
 * The Messages API (Anthropic's API reference) as blocks and back. A block is a block of content, but for what a user says in a row;
 * messages are made of neighbours, and what has no place in a payload is its residue.
 */
export const messagesCodec = defineCodec({
  name: "anthropic-messages/1",
  resultsStandTogether: true,
  ...{ instruct, adjust, restated },
  unsendableReason: (block: Block) => refusalOf(block),
  ...{ encodeRequest, readAnswer, writeAnswer },
});

/** The members of a body that are no setting. */
export const ownMembers: ReadonlySet<string> = new Set(["messages", "stream", "thread"]);

/** Settings that stand in a body otherwise than they were given, behind all others. */
export const rewrittenMembers = ["instructions", "tools"] as const;

function encodeRequest({ settings, input, transport }: RequestParts): string {
  const blocks = input.map(({ block }) => block);
  const leading = blocks.findIndex(({ kind }) => kind !== "system");
  const systems = blocks.slice(0, Math.max(0, leading));
  const { system: own, tools } = prefixOf(settings);
  const body: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(settings)) {
    if (ownMembers.has(name)) throw new Error(`settings cannot hold ${name}: the engine decides it`);
    const isRewritten = rewrittenMembers.some((each) => each === name);
    if (value !== undefined && !isRewritten) setMember(body, name, value);
  }
  if (tools !== undefined) body["tools"] = tools;
  const system = [...textsOf(own), ...messagesOf(systems).flatMap(({ content }) => content)].filter(says);
  const isText = typeof own === "string" && systems.length === 0;
  if (system.length > 0) body["system"] = isText ? own : system;
  const messages = messagesOf(withSystemMessages(blocks.slice(systems.length), settings)).map(sentMessage);
  body["messages"] = ended(
    messages.filter(({ content }) => content.length > 0),
    settings,
  );
  if (transport === "sse") body["stream"] = true;
  return JSON.stringify(body);
}

const textsOf = (system: JsonValue | undefined): readonly JsonObject[] =>
  typeof system === "string" ? [{ type: "text", text: system }] : isJsonList(system) ? system.filter(isJsonObject) : [];

/** Models that go on with the words of a message that they are said to have begun; all later ones refuse that. */
const takesPrefill = /^claude-(3|(opus|sonnet|haiku)-4(-[015])?(-\d{8})?$)/;

/**
 * A Turn that ends with what the model said is followed by a word of the user, which the API asks for. What a server's tool has open
 * is gone on with as it is.
 */
function ended(messages: readonly JsonObject[], { model }: Settings): readonly JsonObject[] {
  const { role, content } = messages.at(-1) ?? {};
  const last = isJsonList(content) ? content.at(-1) : undefined;
  const isModels = role === "assistant" && isJsonObject(last) && kindOf(last) !== "other";
  if (!isModels || (typeof model === "string" && takesPrefill.test(model))) return messages;
  return [...messages, { role: "user", content: [{ type: "text", text: "Continue." }] }];
}

const sentMessage = ({ role, content, residue }: Message) => ({
  role,
  content: content.filter(says),
  ...residue.set,
});

const says = (content: JsonObject): boolean => !isEmptyText(content);
