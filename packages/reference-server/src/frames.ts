import { type JsonObject, objectsOf, stringOf, typeOf } from "./wire.ts";

type Frame = JsonObject & { readonly type: string };

/** The content of a stream. */
export interface StreamedResponse {
  /** The response before it has any content. */
  readonly started: JsonObject;
  /** The final response; its `status` decides the type of the last frame. */
  readonly finished: JsonObject;
  /** Items as in the `added` and `done` frames; ciphertexts are new in each delivery. */
  readonly items: () => readonly JsonObject[];
  /** The number of characters in a delta. */
  readonly deltaLength: number;
  readonly isQueued: boolean;
  /** An `error` frame instead of an answer, in the flat shape of the SDK or nested as on the real wire. */
  readonly error?: { readonly error: JsonObject; readonly isNested: boolean } | undefined;
}

/** The numbered events of a stream, in the order of the real service. */
export function framesOf(response: StreamedResponse): readonly JsonObject[] {
  const queued: Frame[] = response.isQueued ? [{ type: "response.queued", response: response.started }] : [];
  const start: Frame[] = [
    { type: "response.created", response: response.started },
    ...queued,
    { type: "response.in_progress", response: response.started },
  ];
  const frames = [...start, ...(response.error === undefined ? answerFrames(response) : [errorFrame(response.error)])];
  return frames.map((frame, index) => ({ ...frame, sequence_number: index }));
}

/** How many events a stream has before the first event of a background answer. */
export const queuedFrames = 3;

/** Frames as the text of an event stream. Without `[DONE]`, because the service sends none. */
export function streamText(frames: readonly JsonObject[]): string {
  return frames.map((frame) => `event: ${stringOf(frame["type"]) ?? ""}\ndata: ${JSON.stringify(frame)}\n\n`).join("");
}

function errorFrame({ error, isNested }: { error: JsonObject; isNested: boolean }): Frame {
  if (isNested) return { type: "error", error };
  return { type: "error", code: error["code"] ?? null, message: error["message"] ?? "", param: error["param"] ?? null };
}

function answerFrames(response: StreamedResponse): readonly Frame[] {
  const last = objectsOf(response.finished["output"]);
  const added = response.items();
  const done = response.items();
  const frames = last.flatMap((item, index) =>
    itemFrames({ added: added[index] ?? item, done: done[index] ?? item, index, deltaLength: response.deltaLength }),
  );
  const status = stringOf(response.finished["status"]) ?? "completed";
  return [...frames, { type: `response.${status}`, response: response.finished }];
}

interface StreamedItem {
  readonly added: JsonObject;
  readonly done: JsonObject;
  readonly index: number;
  readonly deltaLength: number;
}

function itemFrames(item: StreamedItem): readonly Frame[] {
  const at = { output_index: item.index };
  const hasStatus = "status" in item.added;
  const started = { ...item.added, ...blanks(item.added), ...(hasStatus ? { status: "in_progress" } : {}) };
  return [
    { type: "response.output_item.added", item: started, ...at },
    ...insideFrames(item, { ...at, item_id: stringOf(item.done["id"]) ?? "" }),
    { type: "response.output_item.done", item: item.done, ...at },
  ];
}

// The item with empty content, which the frames between `added` and `done` fill.
function blanks(item: JsonObject): JsonObject {
  switch (typeOf(item)) {
    case "message":
      return { content: [] };
    case "function_call":
    case "mcp_call":
      return { arguments: "" };
    case "custom_tool_call":
      return { input: "" };
    case "code_interpreter_call":
      return { code: "" };
    case "reasoning":
      return { summary: [], ...("content" in item ? { content: [] } : {}) };
    default:
      return {};
  }
}

function insideFrames(item: StreamedItem, at: JsonObject): readonly Frame[] {
  const type = typeOf(item.done);
  const text = (kind: string, member: string) =>
    textFrames(kind, { text: stringOf(item.done[member]) ?? "", member, at, deltaLength: item.deltaLength });
  const simple = (name: string): Frame => ({ type: `response.${type}.${name}`, ...at });
  switch (type) {
    case "message":
      return objectsOf(item.done["content"]).flatMap((part, index) =>
        partFrames(part, { ...at, content_index: index }, item.deltaLength),
      );
    case "reasoning":
      return reasoningFrames(item, at);
    case "function_call":
      return text("function_call_arguments", "arguments");
    case "custom_tool_call":
      return text("custom_tool_call_input", "input");
    case "mcp_call":
      return [simple("in_progress"), ...text("mcp_call_arguments", "arguments"), simple("completed")];
    case "code_interpreter_call":
      return [
        simple("in_progress"),
        ...text("code_interpreter_call_code", "code"),
        simple("interpreting"),
        simple("completed"),
      ];
    case "web_search_call":
    case "file_search_call":
      return [simple("in_progress"), simple("searching"), simple("completed")];
    case "image_generation_call":
      return [simple("in_progress"), simple("generating"), simple("completed")];
    case "mcp_list_tools":
      return [simple("in_progress"), simple("completed")];
    default:
      return [];
  }
}

function partFrames(part: JsonObject, at: JsonObject, deltaLength: number): readonly Frame[] {
  const isRefusal = part["type"] === "refusal";
  const member = isRefusal ? "refusal" : "text";
  const text = stringOf(part[member]) ?? "";
  const blank = isRefusal ? { ...part, refusal: "" } : { ...part, annotations: [], text: "" };
  const logprobs = isRefusal ? {} : { logprobs: [] };
  const annotations = objectsOf(part["annotations"]).map((annotation, index) => ({
    type: "response.output_text.annotation.added",
    annotation,
    annotation_index: index,
    ...at,
  }));
  const frames = textFrames(isRefusal ? "refusal" : "output_text", {
    text,
    member,
    at: { ...at, ...logprobs },
    deltaLength,
  });
  return [
    { type: "response.content_part.added", ...at, part: blank },
    ...frames.slice(0, -1),
    ...annotations,
    ...frames.slice(-1),
    { type: "response.content_part.done", ...at, part },
  ];
}

function reasoningFrames(item: StreamedItem, at: JsonObject): readonly Frame[] {
  const { deltaLength } = item;
  const summary = objectsOf(item.done["summary"]).flatMap((part, index) => {
    const place = { ...at, summary_index: index };
    const text = stringOf(part["text"]) ?? "";
    return [
      { type: "response.reasoning_summary_part.added", ...place, part: { ...part, text: "" } },
      ...textFrames("reasoning_summary_text", { text, member: "text", at: place, deltaLength }),
      { type: "response.reasoning_summary_part.done", ...place, part },
    ];
  });
  const content = objectsOf(item.done["content"]).flatMap((part, index) => {
    const place = { ...at, content_index: index };
    return textFrames("reasoning_text", { text: stringOf(part["text"]) ?? "", member: "text", at: place, deltaLength });
  });
  return [...summary, ...content];
}

function textFrames(
  kind: string,
  from: { readonly text: string; readonly member: string; readonly at: JsonObject; readonly deltaLength: number },
): readonly Frame[] {
  const deltas = chunks(from.text, from.deltaLength).map((delta) => ({
    type: `response.${kind}.delta`,
    ...from.at,
    delta,
  }));
  return [...deltas, { type: `response.${kind}.done`, ...from.at, [from.member]: from.text }];
}

/** A text in the pieces of a stream. A surrogate pair is never split: half of one is not UTF-8. */
export function chunks(text: string, length: number): readonly string[] {
  const found: string[] = [];
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + length, text.length);
    const code = text.charCodeAt(end - 1);
    if (end < text.length && code >= 0xd800 && code < 0xdc00) end += 1;
    found.push(text.slice(start, end));
    start = end;
  }
  return found;
}
