import * as z from "zod";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../base/json.ts";
import { conversationIdSchema } from "../../domain/ids.ts";
import { file, image, text } from "../../domain/make-block.ts";
import { ChatRefusal } from "./chat-refusal.ts";

/** What a page asks for. Of the history that it sends, only the last message counts: the log has the rest. */
export type Asked = {
  readonly id: string;
  /** The message of the user, and the page's id of it; null if the last message is not the user's. */
  readonly message: { readonly id: string; readonly parts: readonly JsonObject[] } | null;
  /** The answers to questions about calls in the last message, if that is the assistant's. */
  readonly decisions: readonly Decision[];
  /** The last message as the page shows it, if that is the assistant's. */
  readonly shown: JsonObject | null;
  readonly isRegeneration: boolean;
  /** The message to edit or to answer anew, as the page names it. */
  readonly messageId: string | null;
};

export type Decision = { readonly approvalId: string; readonly approved: boolean; readonly reason: string | null };

const bodySchema = z.looseObject({
  id: conversationIdSchema,
  messages: z.array(z.unknown()).default([]),
  trigger: z.enum(["submit-message", "regenerate-message"]).default("submit-message"),
  messageId: z.string().min(1).nullish(),
});

const messageSchema = z.looseObject({
  id: z.string().min(1).max(200),
  role: z.enum(["user", "assistant", "system"]),
  parts: z.array(z.custom<JsonObject>(isJsonObject)),
});

/**
 * Reads the body of a request of `useChat`.
 *
 * @throws {ChatRefusal} if it is too large, or not such a body.
 */
export async function readBody(request: Request, maxBytes: number): Promise<Asked> {
  const type = request.headers.get("content-type") ?? "";
  // Forms of other sites cannot send this type.
  if (!/^application\/json\b/i.test(type))
    throw new ChatRefusal(415, "input", "a POST has the content type application/json");
  const parsed = bodySchema.safeParse(jsonOf(await textOf(request, maxBytes)));
  if (!parsed.success) throw malformed(parsed.error);
  const { id, messages, trigger, messageId } = parsed.data;
  const said = { id, isRegeneration: trigger === "regenerate-message", messageId: messageId ?? null };
  const nothing = { ...said, message: null, decisions: [], shown: null };
  if (messages.length === 0) return nothing;
  // A page answers questions about calls in the message that it names, also if a later one waits for its turn.
  const named = messages.find((each) => isJsonObject(each) && each["id"] === messageId && each["role"] === "assistant");
  const last = messageSchema.safeParse(said.isRegeneration ? messages.at(-1) : (named ?? messages.at(-1)));
  if (!last.success) throw malformed(last.error);
  const { id: pageId, role, parts } = last.data;
  if (role === "user") return { ...nothing, message: { id: pageId, parts: parts.flatMap(partOf) } };
  if (role === "system") return nothing;
  return { ...nothing, decisions: parts.flatMap(decisionIn), shown: { id: pageId, role, parts } };
}

const malformed = ({ issues: [issue] }: z.ZodError): ChatRefusal =>
  new ChatRefusal(
    400,
    "input",
    ["not the body of useChat", issue?.path.join("."), issue?.message].filter(Boolean).join(": "),
  );

async function textOf(request: Request, maxBytes: number): Promise<string> {
  const tooLarge = new ChatRefusal(413, "body-too-large", `a request has ${maxBytes} bytes at most`);
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge;
  const decoder = new TextDecoder();
  let [read, size] = ["", 0];
  // The types of Node leave open what a body consists of; it is bytes.
  const body: AsyncIterable<Uint8Array> | null = request.body;
  for await (const bytes of body ?? []) {
    size += bytes.byteLength;
    if (size > maxBytes) throw tooLarge;
    read += decoder.decode(bytes, { stream: true });
  }
  return read + decoder.decode();
}

function jsonOf(text: string): JsonValue {
  try {
    return parseJson(text);
  } catch {
    throw new ChatRefusal(400, "input", "the body is not JSON");
  }
}

/** A part of a user's message; the page's own kinds of data are not for the model. */
function partOf(part: JsonObject): readonly JsonObject[] {
  const { type, text: said, url, mediaType, filename } = part;
  if (type === "text" && typeof said === "string") return said === "" ? [] : [text(said)];
  if (type !== "file") return [];
  if (typeof url !== "string" || !/^(https?|data):/i.test(url))
    throw new ChatRefusal(400, "input", "the address of a file is https:, http: or data:");
  if (typeof mediaType === "string" && mediaType.startsWith("image/")) return [image(url)];
  if (!/^data:/i.test(url)) throw new ChatRefusal(400, "input", "a file that is not an image comes as data:…;base64,…");
  return [file({ name: typeof filename === "string" && filename !== "" ? filename : "file", data: url })];
}

function decisionIn({ state, approval }: JsonObject): readonly Decision[] {
  if (state !== "approval-responded" || !isJsonObject(approval)) return [];
  const { id, approved, reason } = approval;
  if (typeof id !== "string" || typeof approved !== "boolean") return [];
  return [{ approvalId: id, approved, reason: typeof reason === "string" && reason !== "" ? reason : null }];
}
