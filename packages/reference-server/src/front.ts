import type { ScriptedAnswer } from "./answers.ts";
import type { CacheUse } from "./cache/prompt-cache.ts";
import type { Outgoing } from "./delivery.ts";
import type { Fault } from "./faults.ts";
import type { Reading, ReceivedRequest } from "./options.ts";
import type { Refusal } from "./refusals.ts";
import type { Json, JsonObject } from "./wire.ts";

/** A dialect that the server speaks besides the Responses API, on the same port, in its own folder. */
export interface Front {
  /** Whether a request to this path (without its query) asks for an answer in this dialect. */
  takes(method: string, path: string): boolean;
  /** What the model reads for a request, or why a server of this dialect rejects it. */
  accept(request: FrontRequest): FrontCall | { readonly refusal: Refusal };
  /** The dialect's form of an internal error. */
  serverError(message: string): Refusal;
  /** The dialect's rejection of a body that is too long. Default: that of the Responses API. */
  tooLarge?(): Refusal;
  /** Forgets one answer, if the dialect keeps answers. */
  forget?(id: string): void;
  /** Forgets everything. */
  clear(): void;
}

/** A request as received. */
interface FrontRequest {
  /** Undefined if it is not JSON. */
  readonly body: Json | undefined;
  readonly url: URL;
  readonly headers: ReceivedRequest["headers"];
  readonly fault: Fault | undefined;
  /** Its index among all requests that the server received. */
  readonly index: number;
}

/** An accepted request. */
export interface FrontCall {
  readonly body: JsonObject;
  /** Created on demand: the same content as items of the Responses API. */
  readonly reading: () => Reading;
  /** What it reads from the prompt cache. */
  readonly cache: CacheUse;
  /** Called once the script has answered or failed: other requests need no longer wait for this one. */
  readonly release?: () => void;
  /** The scripted items in the form of this dialect, or an error in the stream instead (`stream-error`). */
  render(answer: ScriptedAnswer, error: JsonObject | undefined): FrontAnswer;
}

/** An answer that is ready to be sent. */
export interface FrontAnswer {
  readonly outgoing: Outgoing & { readonly text: string };
  /** Undefined in a dialect whose answers have no id. */
  readonly responseId: string | undefined;
  /** From here on the server remembers the answer. Not called for an answer that breaks off. */
  readonly commit?: () => void;
  /** How many bytes of the text have the whole answer: only what comes after it breaks off behind them. Absent: all. */
  readonly wholeBytes?: number;
}
