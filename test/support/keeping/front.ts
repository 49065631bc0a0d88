import { createServer } from "node:http";
import { type Reading, type ReferenceServer, readItems } from "../../../packages/reference-server/src/server.ts";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../../src/base/json.ts";
import type { Front } from "../dialect.ts";

/** How a server keeps what it answered: as messages of threads, or in sessions. */
export type Keeping = "thread" | "session";

/** What one id stands for: the newest response in it, the settings that it was made with, and whether it was continued. */
type State = { response: string; readonly settings: JsonObject; isContinued: boolean; readonly at: number };

type KeepingOptions = {
  readonly keeping: Keeping;
  /** Takes what no client may ask of it. */
  readonly violations: string[];
  readonly clock?: (() => number) | undefined;
};

/** How long a message of a thread is kept. */
export const keptMs = 5 * 60 * 1000;

type Exchange = Front["requests"][number] & { readonly server: number | null };

/**
 * A server that can be continued once. Before a reference server, which infers and judges, it keeps threads (each answer is
 * continued by one request, which repeats neither instructions nor tools) or sessions (one id for whatever a session holds by now;
 * whatever is sent is added to it, and nothing is refused).
 */
export class KeepingFront {
  readonly requests: Exchange[] = [];
  readonly #violations: string[];
  readonly #clock: () => number;
  readonly #states = new Map<string, State>();
  readonly #server: ReferenceServer;
  readonly #keeping: Keeping;

  constructor(server: ReferenceServer, { keeping, violations, clock = () => 0 }: KeepingOptions) {
    this.#server = server;
    this.#keeping = keeping;
    this.#violations = violations;
    this.#clock = clock;
  }

  /** What the model read for a request, in lines. */
  lines(index: number): readonly string[] | undefined {
    const reading = this.reading(index);
    return reading && readItems(reading.items, reading);
  }

  /** The same as it stands in the items. */
  reading(index: number): Reading | undefined {
    const server = this.requests[index]?.server ?? null;
    return server === null ? undefined : this.#server.reading(server);
  }

  /** The ids that can be named. */
  ids(): readonly string[] {
    return [...this.#states.keys()];
  }

  forget(id: string): void {
    this.#states.delete(id);
  }

  clear(): void {
    this.requests.length = 0;
    this.#states.clear();
    this.#server.clear();
  }

  /** Null where the connection breaks before the whole answer was sent. */
  async respond(bodyText: string): Promise<{
    readonly status: number;
    readonly body: JsonValue;
    readonly headers: Readonly<Record<string, string>>;
  } | null> {
    const body = parseJson(bodyText);
    if (!isJsonObject(body)) throw new Error("no request is without an object");
    const { previous_response_id: given, ...said } = body;
    const named = typeof given === "string" ? given : null;
    const state = named === null ? undefined : this.#states.get(named);
    const refusal = named === null ? null : this.#refusalOf(named, state, said);
    const received = { method: "POST", path: "/responses", bodyText, body };
    if (refusal !== null) {
      this.requests.push({ ...received, status: refusal.status, hasFaultFired: false, server: null });
      return { ...refusal, headers: {} };
    }
    const asked: JsonObject = {
      ...(this.#keeping === "thread" ? state?.settings : {}),
      ...said,
      previous_response_id: state?.response ?? null,
    };
    const index = this.#server.requests.length;
    const before = new Set(this.#server.responseIds());
    const answer = await forwarded(this.#server.baseUrl, asked);
    const { status = 0, hasFaultFired = false } = this.#server.requests[index] ?? {};
    this.requests.push({ ...received, status, hasFaultFired, server: index });
    // The server goes on without a listener.
    const made = this.#server.responseIds().find((id) => !before.has(id));
    const { input: _, ...settings } = asked;
    const id = made === undefined ? null : this.#keep(made, { named, state, settings });
    if (answer === null) return null;
    return { ...answer, body: id === null ? answer.body : told(answer.body, { id, named }) };
  }

  #refusalOf(named: string, state: State | undefined, said: JsonObject) {
    const refused = (status: number, code: string) => ({
      status,
      body: { error: { code, message: `${code}: ${named}`, type: "invalid_request_error", param: null } },
    });
    if (state === undefined) return refused(404, "previous_response_not_found");
    if (this.#keeping === "thread" && this.#clock() - state.at > keptMs) {
      this.#violations.push(`${named} was continued when it was not kept any more`);
      return refused(404, "previous_response_not_found");
    }
    if (this.#keeping === "session") return null;
    const repeated = ["instructions", "tools"].filter((name) => Object.hasOwn(said, name));
    if (repeated.length > 0) this.#violations.push(`${named} was continued with ${repeated.join(" and ")}`);
    if (!state.isContinued) return null;
    this.#violations.push(`${named} was continued again`);
    return refused(400, "already_continued");
  }

  /** What the new response is named by from now on. */
  #keep(
    response: string,
    {
      named,
      state,
      settings,
    }: { readonly named: string | null; readonly state: State | undefined; readonly settings: JsonObject },
  ): string {
    if (state !== undefined && named !== null && this.#keeping === "session") {
      state.response = response;
      return named;
    }
    if (state !== undefined) state.isContinued = true;
    const id = this.#keeping === "thread" ? response : `session_${response}`;
    this.#states.set(id, { response, settings, isContinued: false, at: this.#clock() });
    return id;
  }
}

const none: Readonly<Record<string, string>> = {};

/** The answer of the server that infers; null where it broke off. */
async function forwarded(url: string, asked: JsonObject) {
  try {
    const answer = await fetch(`${url}/responses`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(asked),
    });
    const retryAfter = answer.headers.get("retry-after");
    return {
      status: answer.status,
      body: parseJson(await answer.text()),
      headers: retryAfter === null ? none : { "retry-after": retryAfter },
    };
  } catch {
    return null;
  }
}

/** In the words of this server: under which id it is kept, and what was continued from. */
const told = (body: JsonValue, { id, named }: { readonly id: string; readonly named: string | null }): JsonValue =>
  isJsonObject(body)
    ? { ...body, kept_as: id, previous_response_id: body["previous_response_id"] === null ? null : named }
    : body;

/** Serves it over HTTP on the loopback interface. */
export async function serveKeeping(front: KeepingFront): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      void front.respond(Buffer.concat(chunks).toString()).then((answer) => {
        if (answer === null) response.destroy();
        else
          response
            .writeHead(answer.status, { "content-type": "application/json", ...answer.headers })
            .end(JSON.stringify(answer.body));
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" ? (address?.port ?? 0) : 0}`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
