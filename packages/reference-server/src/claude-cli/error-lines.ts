import { isObject, type Json, type JsonObject, parseJson, stringOf } from "../wire.ts";

/** What the CLI prints on its two outputs before it exits with code 1. */
type Printed = { readonly stdout: string; readonly stderr: string };

export const linesText = (lines: readonly JsonObject[]): string =>
  lines.map((line) => `${JSON.stringify(line)}\n`).join("");

/** What it prints if it fails by itself (`{ stdout, stderr }`), or if the Messages API rejected the request. */
export function messagesRefusal(status: number, body: string, session: string): Printed {
  const told = jsonIn(body);
  const { stdout, stderr } = isObject(told) ? told : {};
  if (typeof stdout === "string" && typeof stderr === "string") return { stdout, stderr };
  const error = isObject(told) && isObject(told["error"]) ? told["error"] : {};
  return {
    stdout: linesText(refusedLines(status, stringOf(error["message"]) ?? body, { session_id: session })),
    stderr: "",
  };
}

/** The CLI reports a rejection as `success`, with the error as an answer of the model. */
export function refusedLines(status: number, message: string, ids: JsonObject): readonly JsonObject[] {
  const text = `API Error: ${status} ${message}`;
  const said = { id: "msg_error", type: "message", role: "assistant", model: "<synthetic>" };
  return [
    {
      ...{
        type: "assistant",
        parent_tool_use_id: null,
        error: status < 500 ? "invalid_request" : "server_error",
        ...ids,
      },
      message: { ...said, content: [{ type: "text", text }], stop_reason: null },
    },
    {
      type: "result",
      subtype: "success",
      is_error: true,
      api_error_status: status,
      result: text,
      num_turns: 1,
      ...ids,
    },
  ];
}

function jsonIn(text: string): Json {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}
