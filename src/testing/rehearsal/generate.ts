import type { ChatDocument, ChatFileMessage } from "./chat-format.ts";
import { type Draw, drawFrom } from "./draw.ts";

/**
 * Conversations shaped like recorded ones, for use when there are none: a system prompt of 6 KB, short user messages,
 * answers of one call or of a few sentences, results of up to 1 KB (sometimes 8), up to 62 messages. The model
 * was 120 recorded conversations of an airline's agent (tau-bench): 27 messages on average, 47 % of the answers a
 * call, 7 % of the calls under an id that was used before. The same seed makes the same conversations.
 */
export function* generateDocuments(seed: string, count: number): Iterable<ChatDocument> {
  const prompt = sentences(drawFrom(seed, "system"), systemLength);
  for (let n = 0; n < count; n += 1) {
    const draw = drawFrom(seed, "document", n);
    yield { id: `generated-${seed}-${n}`, messages: [{ role: "system", content: prompt }, ...talk(draw)] };
  }
}

/** In characters. */
const systemLength = 6_000;
const maxMessages = 62;

function talk(draw: Draw): readonly ChatFileMessage[] {
  const length = draw.chance(0.05) ? maxMessages - 1 : 4 + draw.below(24) + draw.below(24);
  const callIds: string[] = [];
  const messages: ChatFileMessage[] = [userMessage(draw)];
  while (messages.length < length) {
    if (draw.chance(0.47)) messages.push(...callAndResult(draw, callIds));
    else messages.push({ role: "assistant", content: sentences(draw, 40 + draw.below(500)) }, userMessage(draw));
  }
  return messages;
}

const userMessage = (draw: Draw): ChatFileMessage => ({ role: "user", content: sentences(draw, 20 + draw.below(140)) });

function callAndResult(draw: Draw, callIds: string[]): readonly ChatFileMessage[] {
  const [used = ""] = callIds;
  const id = used !== "" && draw.chance(0.07) ? used : `call_${draw.nonce()}`;
  callIds.unshift(id);
  const name = draw.pick(["find_order", "list_orders", "change_order", "find_customer", "think"]);
  const call = {
    id,
    type: "function" as const,
    function: { name, arguments: JSON.stringify({ reference: draw.nonce(), note: sentences(draw, 30) }) },
  };
  const text = draw.chance(0.08) ? { content: sentences(draw, 80) } : { content: null };
  return [
    { role: "assistant", ...text, tool_calls: [call] },
    { role: "tool", tool_call_id: id, content: result(draw) },
  ];
}

function result(draw: Draw): string {
  if (draw.chance(0.08)) return "";
  if (draw.chance(0.2)) return sentences(draw, 30);
  const length = draw.chance(0.02) ? 8_000 : 600 + draw.below(400);
  return JSON.stringify({ reference: draw.nonce(), status: "found", notes: sentences(draw, length) });
}

/** Plain sentences of about this many characters. */
function sentences(draw: Draw, length: number): string {
  const words: string[] = [];
  for (let written = 0; written < length; ) {
    const word = draw.pick(vocabulary);
    words.push(words.length % 11 === 10 ? `${word}.` : word);
    written += word.length + 1;
  }
  return `${words.join(" ")}.`;
}

const vocabulary = [
  ...["the", "a", "order", "customer", "parcel", "address", "refund", "delivery", "payment", "account", "item", "date"],
  ...["please", "confirm", "change", "cancel", "before", "after", "with", "without", "must", "may", "only", "every"],
  ...["reference", "status", "shipped", "returned", "business", "days", "policy", "agent", "request", "details"],
] as const;
