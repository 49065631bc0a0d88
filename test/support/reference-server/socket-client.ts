import OpenAI from "openai";
import type { ResponsesClientEvent, ResponsesServerEvent } from "openai/resources/responses/responses";
import { ResponsesWS } from "openai/resources/responses/ws";
import type { ReferenceServer } from "../../../packages/reference-server/src/server.ts";

type Asked = Omit<Extract<ResponsesClientEvent, { type: "response.create" }>, "type" | "model">;

/** The official client on one connection. */
export class SocketClient implements AsyncDisposable {
  readonly socket: ResponsesWS;
  readonly #events: AsyncIterator<ResponsesServerEvent, undefined>;

  constructor({ baseUrl }: ReferenceServer) {
    this.socket = new ResponsesWS(new OpenAI({ baseURL: baseUrl, apiKey: "none" }));
    this.#events = this.#arriving();
  }

  async *#arriving(): AsyncGenerator<ResponsesServerEvent, undefined> {
    for await (const event of this.socket.stream()) {
      if (event.type === "message") yield event.message;
      if (event.type === "error" && event.error.error !== undefined) yield event.error.error;
    }
  }

  async next(): Promise<ResponsesServerEvent> {
    const next = await this.#events.next();
    if (next.done === true) throw new Error("the connection was closed");
    return next.value;
  }

  send(asked: Asked): void {
    this.socket.send({ type: "response.create", model: "m", ...asked });
  }

  /** The terminal event of one response. */
  async ended(): Promise<ResponsesServerEvent> {
    for (;;) {
      const event = await this.next();
      if (["response.completed", "response.incomplete", "response.failed", "error"].includes(event.type)) return event;
    }
  }

  async ask(asked: Asked): Promise<ResponsesServerEvent> {
    this.send(asked);
    return this.ended();
  }

  /** The id of the response that it is answered by. */
  async askFor(asked: Asked): Promise<string> {
    const event = await this.ask(asked);
    if (event.type !== "response.completed") throw new Error(JSON.stringify(event));
    return event.response.id;
  }

  closed(): Promise<void> {
    return new Promise((resolve) => {
      this.socket.on("close", () => {
        resolve();
      });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.close();
  }
}
