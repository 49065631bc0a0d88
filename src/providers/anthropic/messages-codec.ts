import { isJsonList, isJsonObject, type JsonObject, type JsonValue, setMember } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import type { RequestParts } from "../../engine/stack/codec.ts";
import { defineCodec } from "../define-codec.ts";
import { refusalOf } from "./content-blocks.ts";
import { isEmptyText } from "./content-parts.ts";
import { type Message, messagesOf } from "./messages.ts";
import { readAnswer, writeAnswer } from "./messages-answer.ts";
import { adjust, instruct, prefixOf } from "./messages-settings.ts";

/**
 * The Messages API (Anthropic's API reference) as blocks and back. A block is a block of content, but for what a user says in a row;
 * messages are made of neighbours, and what has no place in a payload is its residue.
 */
export const messagesCodec = defineCodec({
  name: "anthropic-messages/1",
  resultsStandTogether: true,
  ...{ instruct, adjust },
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
  const messages = messagesOf(blocks.slice(systems.length)).map(sentMessage);
  body["messages"] = messages.filter(({ content }) => content.length > 0);
  if (transport === "sse") body["stream"] = true;
  return JSON.stringify(body);
}

const textsOf = (system: JsonValue | undefined): readonly JsonObject[] =>
  typeof system === "string" ? [{ type: "text", text: system }] : isJsonList(system) ? system.filter(isJsonObject) : [];

const sentMessage = ({ role, content, residue }: Message) => ({
  role,
  content: content.filter(says),
  ...residue.set,
});

const says = (content: JsonObject): boolean => !isEmptyText(content);
