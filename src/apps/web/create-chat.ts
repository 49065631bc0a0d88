import { conversationIdSchema } from "../../domain/ids.ts";
import { ChatHub } from "./chat-hub.ts";
import { type ChatOptions, checkedAccess, checkedChat } from "./chat-options.ts";
import { ChatRefusal, failureOf } from "./chat-refusal.ts";
import { ChatRequest } from "./chat-request.ts";
import { readBody } from "./read-body.ts";

/** A handler of Web-standard requests, for a page with `useChat`. */
export type Chat = { readonly fetch: (request: Request) => Promise<Response> };

/**
 * The server's side of a chat page: answers as streams of the AI SDK, which a page may leave and take up again, in this process or another.
 *
 *     const chat = createChat({ store, engine, access: (request) => userOf(request) });
 *     createServer(toNode(chat.fetch)).listen(3000);
 *
 * @throws {TypeError} if an option is missing, unknown or invalid.
 */
export function createChat<Context>(options: ChatOptions<Context>): Chat {
  // The context goes from `access` to the engine that needs it, and nothing here looks into it.
  const chat = checkedChat(options as ChatOptions);
  const hub = new ChatHub(chat.live ?? null);
  const answered = async (request: Request): Promise<Response> => {
    const route = routeOf(request, chat.basePath);
    if (route === null) throw new ChatRefusal(404, "not-found", "there is no such part of the chat");
    const access = checkedAccess(await chat.access(request));
    if (access === null) throw new ChatRefusal(401, "access-denied", "this request is not allowed");
    const asking = new ChatRequest({ chat, hub, access, request });
    switch (route.name) {
      case "send":
        return asking.send(await readBody(request, chat.maxBodyBytes));
      case "list":
        return asking.list();
      case "stop":
        return asking.stop(route.id);
      case "stream":
        return asking.resume(route.id);
      default:
        return asking.read(route.id);
    }
  };
  return {
    async fetch(request) {
      try {
        return await answered(request);
      } catch (error) {
        const answer = failureOf(error);
        if (answer.status >= 500) chat.onError(error);
        return answer;
      }
    },
  };
}

type Route = { readonly name: "send" | "list" } | { readonly name: "stop" | "stream" | "read"; readonly id: string };

/** Null if there is none. An id with other signs than a conversation's has no route. */
function routeOf({ method, url }: Request, basePath: string): Route | null {
  const { pathname } = new URL(url);
  if (pathname !== basePath && !pathname.startsWith(`${basePath}/`)) return null;
  const [id = "", part, ...more] = pathname.slice(basePath.length + 1).split("/");
  if (id === "" && part === undefined)
    return method === "POST" ? { name: "send" } : method === "GET" ? { name: "list" } : null;
  if (more.length > 0 || !conversationIdSchema.safeParse(id).success) return null;
  if (part === undefined) return method === "GET" ? { name: "read", id } : null;
  if (part === "stream" && method === "GET") return { name: "stream", id };
  return part === "stop" && method === "POST" ? { name: "stop", id } : null;
}
