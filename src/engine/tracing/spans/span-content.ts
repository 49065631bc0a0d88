import type { JsonObject, JsonValue } from "../../../base/json.ts";
import type { Block } from "../../../domain/block.ts";
import { resultParts, saidIn } from "../../../domain/message-content.ts";
import type { SpanAttributes } from "./span.ts";
import type { SpanOptions } from "./span-options.ts";

/** A message as the conventions write it. */
type Message = { readonly role: string; readonly parts: readonly JsonObject[] };

type ContentOptions = Pick<SpanOptions, "service">;

/** What the model reads: the messages of the whole Turn, the instructions and the tools in the settings. */
export function inputContent(blocks: readonly Block[], settings: JsonObject, options: ContentOptions): SpanAttributes {
  const messages = messagesOf(blocks);
  const instructions = settings["instructions"] ?? settings["system"] ?? settings["systemInstruction"];
  const { tools } = settings;
  return {
    "gen_ai.input.messages": JSON.stringify(messages),
    ...(instructions === undefined || instructions === null
      ? {}
      : { "gen_ai.system_instructions": JSON.stringify(instructionParts(instructions)) }),
    ...(tools === undefined ? {} : { "gen_ai.tool.definitions": JSON.stringify(tools) }),
    ...(options.service === "langsmith" ? numbered("gen_ai.prompt", messages) : {}),
  };
}

/** What the model answered. */
export function outputContent(
  blocks: readonly Block[],
  finishReason: string | null,
  options: ContentOptions,
): SpanAttributes {
  const messages = messagesOf(blocks);
  const finish = finishReason === null ? {} : { finish_reason: finishReason };
  return {
    "gen_ai.output.messages": JSON.stringify(messages.map((message) => ({ ...message, ...finish }))),
    ...(options.service === "langsmith" ? numbered("gen_ai.completion", messages) : {}),
  };
}

/** Blocks that the model made one after another are one message. */
function messagesOf(blocks: readonly Block[]): readonly Message[] {
  const messages: { readonly role: string; readonly parts: JsonObject[] }[] = [];
  for (const block of blocks) {
    const role = roleOf(block);
    const last = messages.at(-1);
    if (last?.role === "assistant" && role === "assistant") last.parts.push(...partsOf(block));
    else messages.push({ role, parts: [...partsOf(block)] });
  }
  return messages;
}

function roleOf({ kind, role }: Block): string {
  if (kind === "tool_result") return "tool";
  if (kind === "user" || kind === "system") return role ?? kind;
  return "assistant";
}

function partsOf(block: Block): readonly JsonObject[] {
  switch (block.kind) {
    case "tool_call":
      return [{ type: "tool_call", ...callId(block), name: block.name, arguments: block.arguments }];
    case "tool_result":
      return [{ type: "tool_call_response", ...callId(block), response: shownResult(block.payload["output"] ?? null) }];
    case "reasoning":
      return [{ type: "reasoning", content: block.text }];
    case "other":
      return [{ type: block.type }];
    default:
      return block.parts.map(partOf);
  }
}

const callId = ({ callId: id }: Block): JsonObject => (id === null ? {} : { id });

/** Images, files and audio are named, and an address is kept, but no bytes: spans are limited in size. */
function partOf(part: JsonObject): JsonObject {
  const said = saidIn(part);
  const { type, url } = part;
  if (said !== null) return { type: "text", content: said };
  const isAddress = typeof url === "string" && !url.startsWith("data:");
  return isAddress ? { type: "uri", modality: type, uri: url } : { type: type ?? "other" };
}

const shownResult = (output: JsonValue): JsonValue => resultParts(output)?.map(partOf) ?? output;

const instructionParts = (instructions: JsonValue): JsonValue =>
  typeof instructions === "string" ? [{ type: "text", content: instructions }] : instructions;

/** The older form of messages: an attribute for each. */
const numbered = (name: string, messages: readonly Message[]): SpanAttributes =>
  Object.fromEntries(
    messages.flatMap(({ role, parts }, index) => [
      [`${name}.${index}.role`, role],
      [`${name}.${index}.content`, parts.map(textOf).join("\n")],
    ]),
  );

function textOf(part: JsonObject): string {
  const { content } = part;
  return typeof content === "string" ? content : JSON.stringify(part);
}

/** The arguments of a call. */
export const argumentsContent = (call: Block | null): SpanAttributes =>
  call === null ? {} : { "gen_ai.tool.call.arguments": call.arguments };

/** The result of a call. */
export function resultContent({ payload }: Block): SpanAttributes {
  const shown = shownResult(payload["output"] ?? null);
  return { "gen_ai.tool.call.result": typeof shown === "string" ? shown : JSON.stringify(shown) };
}
