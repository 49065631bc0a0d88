/** Conversations carried from one store to another, verified. */
export { type CopiedStream, type CopyOptions, copyConversations, type OpenStore } from "../carry/copy.ts";
