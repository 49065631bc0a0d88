import {
  AbstractChat,
  type ChatInit,
  type ChatState,
  type ChatStatus,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type UIMessage,
} from "ai";
import type { Chat } from "../../../src/apps/web/create-chat.ts";

/** The state of a page without a page. */
class PageState implements ChatState<UIMessage> {
  status: ChatStatus = "ready";
  error: Error | undefined = undefined;
  messages: UIMessage[];

  constructor(messages: readonly UIMessage[]) {
    this.messages = [...messages];
  }

  pushMessage = (message: UIMessage): void => {
    this.messages = [...this.messages, message];
  };

  popMessage = (): void => {
    this.messages = this.messages.slice(0, -1);
  };

  replaceMessage = (index: number, message: UIMessage): void => {
    this.messages = this.messages.with(index, this.snapshot(message));
  };

  snapshot = <T>(thing: T): T => structuredClone(thing);
}

/** What `useChat` does, without React: the same class of the AI SDK, its default transport, and its requests. */
export class Page extends AbstractChat<UIMessage> {
  readonly fetch: typeof globalThis.fetch;
  /** The requests that the page made, by method and path. */
  readonly requests: string[];
  readonly data: string[];

  constructor(chat: Chat, init: Omit<ChatInit<UIMessage>, "transport"> & { readonly user?: string }) {
    const { messages = [], user = "ann", ...rest } = init;
    const requests: string[] = [];
    const data: string[] = [];
    const fetch = (async (address: string | URL | Request, options?: RequestInit) => {
      const request = new Request(
        new URL(address instanceof Request ? address.url : address, "http://chat.test"),
        options,
      );
      request.headers.set("x-user", user);
      requests.push(`${request.method} ${new URL(request.url).pathname}`);
      return chat.fetch(request);
    }) as typeof globalThis.fetch;
    super({
      sendAutomaticallyWhen: ({ messages }) =>
        lastAssistantMessageIsCompleteWithApprovalResponses({
          messages: messages.slice(0, messages.findLastIndex(({ role }) => role === "assistant") + 1),
        }),
      onError: () => undefined,
      onData: ({ type }) => void data.push(type),
      ...rest,
      transport: new DefaultChatTransport({ fetch }),
      state: new PageState(messages),
    });
    [this.fetch, this.requests, this.data] = [fetch, requests, data];
  }

  /** The page as it is after loading it anew: what the server has, then the rest of an answer that is being made. */
  static async load(chat: Chat, id: string, user = "ann"): Promise<Page> {
    const page = new Page(chat, { id, user });
    const { messages } = (await (await page.fetch(`/api/chat/${id}`)).json()) as { readonly messages: UIMessage[] };
    page.messages = messages;
    return page;
  }

  /** The same, also for a conversation that does not exist yet. */
  static async loadIfThere(chat: Chat, id: string): Promise<Page> {
    const { status } = await new Page(chat, { id }).fetch(`/api/chat/${id}`);
    return status === 404 ? new Page(chat, { id }) : Page.load(chat, id);
  }

  get texts(): readonly string[] {
    return this.messages.map(
      ({ role, parts }) => `${role}: ${parts.map((part) => ("text" in part ? part.text : "")).join("")}`,
    );
  }

  /** Waits until an answer has ended that the page asked for by itself. */
  async settled(): Promise<void> {
    while (this.status === "submitted" || this.status === "streaming")
      await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Messages without the ids of the user's messages, which a page chooses itself until it is loaded again. */
export const withoutPageIds = (messages: readonly unknown[]): unknown =>
  (JSON.parse(JSON.stringify(messages)) as { id: string; role: string; parts: { type: string }[] }[]).map((message) =>
    message.role === "user"
      ? { ...message, id: "" }
      : {
          ...message,
          parts: message.parts.filter((part, at, all) => part.type !== "step-start" || at < all.length - 1),
        },
  );
