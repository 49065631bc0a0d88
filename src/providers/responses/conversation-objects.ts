import { type JsonObject, objectsOf } from "../../base/json.ts";
import { ProviderError } from "../../engine/ports/provider-error.ts";
import type { ConversationObjects } from "../../engine/ports/stored-responses.ts";
import { createDeadline, type Deadline } from "../http/deadline.ts";
import type { HttpSender } from "../http/http-sender.ts";
import { readObject } from "../http/read-answer.ts";
import type { AnswerLimits } from "../settings/answer-limits.ts";
import { isItemGone, objectPath } from "./responses-endpoints.ts";

type Calls = { readonly sender: HttpSender; readonly limits: AnswerLimits; readonly timeoutMs: number };

/** The conversation objects of the Responses API (its reference, under Conversations). */
export function conversationObjects({ sender, limits, timeoutMs }: Calls): ConversationObjects {
  const call = async (
    request: { readonly method: "GET" | "POST" | "DELETE"; readonly path: string; readonly bodyText?: string },
    signal: AbortSignal,
  ): Promise<JsonObject> => {
    using deadline: Deadline = createDeadline(signal, timeoutMs);
    const answer = await sender.send({ ...request, accept: "application/json", deadline });
    return await readObject(answer, { limits, deadline });
  };
  return {
    async create({ signal }) {
      const { id } = await call({ method: "POST", path: "/conversations", bodyText: "{}" }, signal);
      if (typeof id === "string") return id;
      const told = { kind: "provider-failed", outcome: "unknown" } as const;
      throw new ProviderError("the server made a conversation without returning its id", told);
    },
    async newestItems(id, { limit, signal }) {
      const { data } = await call({ method: "GET", path: `${objectPath(id)}/items?order=desc&limit=${limit}` }, signal);
      const items = objectsOf(data);
      return items.flatMap((item) => (typeof item["id"] === "string" ? [item["id"]] : []));
    },
    async deleteItem(id, itemId, { signal }) {
      try {
        await call({ method: "DELETE", path: `${objectPath(id)}/items/${encodeURIComponent(itemId)}` }, signal);
      } catch (error) {
        if (!isItemGone(error)) throw error;
      }
    },
  };
}
