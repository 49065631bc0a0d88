/** The server's side of a chat page with `useChat` (docs/WEB.md). */
export type { ChatActor } from "../apps/web/chat-messages.ts";
export type { ChatAccess, ChatOptions } from "../apps/web/chat-options.ts";
export { type Chat, createChat } from "../apps/web/create-chat.ts";
export type { LiveChannel } from "../apps/web/live-channel.ts";
export { toNode } from "../apps/web/to-node.ts";
