/** The server's side of a chat page with `useChat` (docs/WEB.md). */
export type { ChatActor } from "../web/chat-messages.ts";
export type { ChatAccess, ChatOptions } from "../web/chat-options.ts";
export { type Chat, createChat } from "../web/create-chat.ts";
export type { LiveChannel } from "../web/live-channel.ts";
export { toNode } from "../web/to-node.ts";
