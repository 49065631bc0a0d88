import { createReadStream } from "node:fs";
import * as z from "zod";
import { linesOf } from "../../base/lines.ts";

const textPart = z.looseObject({ type: z.literal("text"), text: z.string() });
const refusalPart = z.looseObject({ type: z.literal("refusal"), refusal: z.string() });
const userPart = z.discriminatedUnion("type", [
  textPart,
  z.looseObject({
    type: z.literal("image_url"),
    image_url: z.looseObject({ url: z.string(), detail: z.exactOptional(z.string()) }),
  }),
  z.looseObject({
    type: z.literal("input_audio"),
    input_audio: z.looseObject({ data: z.string(), format: z.string() }),
  }),
  z.looseObject({
    type: z.literal("file"),
    file: z
      .looseObject({
        file_id: z.exactOptional(z.string()),
        filename: z.exactOptional(z.string()),
        file_data: z.exactOptional(z.string()),
      })
      .refine(
        ({ file_id: id, filename, file_data: data }) =>
          id !== undefined || (filename !== undefined && data !== undefined),
        "a file needs a file_id, or a filename and file_data",
      ),
  }),
]);

const said = <P extends z.ZodType>(part: P) => z.union([z.string(), z.array(part).min(1)]);

const toolCall = z.looseObject({
  id: z.string().min(1),
  type: z.literal("function"),
  function: z.looseObject({ name: z.string().min(1), arguments: z.string() }),
});

const chatMessage = z.discriminatedUnion("role", [
  z.looseObject({ role: z.literal("system"), content: said(textPart) }),
  z.looseObject({ role: z.literal("developer"), content: said(textPart) }),
  z.looseObject({ role: z.literal("user"), content: said(userPart) }),
  z.looseObject({
    role: z.literal("assistant"),
    content: z
      .union([z.string(), z.array(z.discriminatedUnion("type", [textPart, refusalPart]))])
      .nullable()
      .optional(),
    refusal: z.string().nullable().optional(),
    tool_calls: z.array(toolCall).nullable().optional(),
  }),
  z.looseObject({ role: z.literal("tool"), tool_call_id: z.string(), content: said(textPart) }),
]);

const chatDocument = z.looseObject({ id: z.string().min(1), messages: z.array(chatMessage).min(1) });

/** One message of the Chat Completions API. */
export type ChatFileMessage = z.infer<typeof chatMessage>;

/** One recorded conversation. */
export type ChatDocument = { readonly id: string; readonly messages: readonly ChatFileMessage[] };

/** The content of a line in a file: a conversation, or what is wrong with it. Lines count from 1. */
export type ChatLine =
  | { readonly status: "document"; readonly line: number; readonly document: ChatDocument }
  | { readonly status: "malformed"; readonly line: number; readonly message: string };

/**
 * Reads recorded conversations: one JSON document per line, `{id, messages}` with Chat Completions messages. A malformed
 * line is reported and does not stop the rest; blank lines are ignored. Resolves once the file could be opened, so that
 * a missing file is noticed before any work starts.
 *
 * @throws the error of `node:fs` if the file cannot be read.
 */
export async function readChatFile(path: string): Promise<AsyncIterable<ChatLine>> {
  const lines = readChatLines(createReadStream(path, { encoding: "utf8" }));
  const first = await lines.next();
  return first.done === true ? lines : startingWith(first.value, lines);
}

async function* startingWith(first: ChatLine, rest: AsyncGenerator<ChatLine>): AsyncGenerator<ChatLine> {
  try {
    yield first;
    yield* rest;
  } finally {
    // Otherwise a reader that stops after the first line would leave the file open.
    await rest.return(undefined);
  }
}

/** The same, from text in pieces. */
export async function* readChatLines(pieces: AsyncIterable<string>): AsyncGenerator<ChatLine> {
  let number = 0;
  for await (const text of linesOf(pieces)) {
    number += 1;
    const line = number === 1 ? text.replace(/^\uFEFF/, "") : text;
    if (line.trim() !== "") yield readLine(line, number);
  }
}

function readLine(text: string, line: number): ChatLine {
  const malformed = (message: string): ChatLine => ({ status: "malformed", line, message });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return malformed(`this is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const parsed = chatDocument.safeParse(value);
  if (!parsed.success) return malformed(firstIssue(parsed.error));
  const { id, messages } = parsed.data;
  const unpaired = unpairedResult(messages);
  if (unpaired !== null) return malformed(`messages[${unpaired}]: this tool message does not answer a call`);
  return { status: "document", line, document: { id, messages } };
}

/** The index of a tool message without an open call in the assistant message before it; null if there is none. */
function unpairedResult(messages: readonly ChatFileMessage[]): number | null {
  let open = 0;
  for (const [index, message] of messages.entries()) {
    if (message.role === "assistant") open = message.tool_calls?.length ?? 0;
    if (message.role !== "tool") continue;
    if (open === 0) return index;
    open -= 1;
  }
  return null;
}

function firstIssue(error: z.ZodError): string {
  const [issue] = error.issues;
  if (issue === undefined) return "this is not a conversation";
  const path = issue.path.map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`)).join("");
  return `${path.replace(/^\./, "") || "the line"}: ${issue.message}`;
}
