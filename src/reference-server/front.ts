import type { ScriptedAnswer } from "./answers.ts";
import type { Outgoing } from "./delivery.ts";
import type { Fault } from "./faults.ts";
import type { Reading, ReceivedRequest } from "./options.ts";
import type { Refusal } from "./refusals.ts";
import type { Json, JsonObject } from "./wire.ts";

/** A dialect that the server speaks beside the Responses API, on the same port, in a folder of its own. */
export interface Front {
  /** Whether a request to this path, without its query, asks for an answer in this dialect. */
  takes(method: string, path: string): boolean;
  /** What the model reads for a request, or why a server of this dialect refuses it. */
  accept(request: FrontRequest): FrontCall | { readonly refusal: Refusal };
  /** How it says that it failed by itself. */
  serverError(message: string): Refusal;
  /** How it refuses a body of more bytes than it takes; as the Responses API does where absent. */
  tooLarge?(): Refusal;
  /** Forgets one answer, where it keeps them. */
  forget?(id: string): void;
  /** Forgets everything. */
  clear(): void;
}

/** A request as it came. */
interface FrontRequest {
  /** Undefined where it is no JSON. */
  readonly body: Json | undefined;
  readonly url: URL;
  readonly headers: ReceivedRequest["headers"];
  readonly fault: Fault | undefined;
}

/** A request that was accepted. */
export interface FrontCall {
  readonly body: JsonObject;
  /** Made when it is asked for: the items that the same words would be on the wire of the Responses API. */
  readonly reading: () => Reading;
  /** Called once the script has answered, or has failed: the request holds nothing any more that others have to wait for. */
  readonly release?: () => void;
  /** The scripted items as this dialect delivers them; instead of them, an error in the stream (`stream-error`). */
  render(answer: ScriptedAnswer, error: JsonObject | undefined): FrontAnswer;
}

/** An answer that is ready to go out. */
export interface FrontAnswer {
  readonly outgoing: Outgoing & { readonly text: string };
  /** Undefined in a dialect whose answers have no id. */
  readonly responseId: string | undefined;
  /** The server remembers the answer from here on; not called for one that breaks off. */
  readonly commit?: () => void;
}
