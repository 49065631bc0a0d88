import { messageOf } from "../../base/error-message.ts";
import { isJsonObject } from "../../base/json.ts";
import { classifyNetworkFailure } from "../../providers/failures/network-failure.ts";

/** What is known of a call that failed: whether the tool ran, and whether the connection is gone. */
export type CallFailure = {
  /**
   * `unsent`: the server did not get the call. `answered`: the server answered with an error. `ran`: the tool ran, and its result cannot be
   * read. `unknown`: it may have run.
   */
  readonly outcome: "unsent" | "answered" | "ran" | "unknown";
  /** The connection or its session is gone: another one may work. */
  readonly isDisconnected: boolean;
  readonly message: string;
};

/** Classifies what a client threw, by codes and words of the clients of `@modelcontextprotocol` (2.x, and 1.x where it differs). Pure. */
export function callFailureOf(error: unknown): CallFailure {
  const message = messageOf(error);
  const fields = isJsonObject(error) ? error : {};
  const failure = (outcome: CallFailure["outcome"], isDisconnected = false): CallFailure => {
    return { outcome, isDisconnected, message };
  };
  const { code } = fields;
  if (code === "NOT_CONNECTED" || message === "Not connected") return failure("unsent", true);
  if (code === "CONNECTION_CLOSED" || code === -32_000) return failure("unknown", true);
  if (code === "REQUEST_TIMEOUT" || code === -32_001) return failure("unknown");
  if (code === "INVALID_RESULT" || code === "UNSUPPORTED_RESULT_TYPE") return failure("ran");
  if (typeof code === "number" && isResultRefused.test(message)) return failure("ran");
  if (typeof code === "number" && message.includes("has an invalid outputSchema")) return failure("unsent");
  const status = statusOf(fields);
  if (status !== null) return byStatus(status, failure);
  // An error of JSON-RPC: an unknown tool, for example.
  if (typeof code === "number") return failure("answered");
  const { outcome } = classifyNetworkFailure(error);
  return outcome === "rejected" ? failure("unsent", true) : failure("unknown");
}

/** The client checks a result against the schema that the server declared, after the tool ran. */
const isResultRefused =
  /Structured content does not match|Failed to validate structured content|did not return structured content/;

/** The HTTP status of a client's error; null if there was none. */
function statusOf({ status, data, code, name }: Readonly<Record<string, unknown>>): number | null {
  const given = status ?? (isJsonObject(data) ? data["status"] : undefined) ?? (name === "Error" ? code : undefined);
  return typeof given === "number" && given >= 100 && given <= 599 ? given : null;
}

function byStatus(status: number, failure: (outcome: CallFailure["outcome"], isDisconnected?: boolean) => CallFailure) {
  // A restarted server does not know the session.
  if (status === 404) return failure("unsent", true);
  return status >= 400 && status < 500 && status !== 408 ? failure("unsent") : failure("unknown");
}
