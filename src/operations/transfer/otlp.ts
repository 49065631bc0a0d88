import type { JsonObject } from "../../base/json.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { ConversationId } from "../../domain/ids.ts";
import type { SpanAttributes, SpanKey } from "../../engine/tracing/spans/span.ts";
import type { RecordedSpan } from "./recorded-spans.ts";

/** How every file of OTLP/JSON begins that `otlpPieces` writes. */
export const otlpBegin = '{"resourceSpans":[';

/** The spans of a conversation, in the order of their ends. */
export type SpansOfConversation = { readonly id: ConversationId; readonly spans: AsyncIterable<RecordedSpan> };

/**
 * Spans as one document of OTLP/JSON, piece by piece. Ids are derived from the names of runs and spans, so that a file that is sent twice names
 * the same spans.
 */
export async function* otlpPieces(
  conversations: AsyncIterable<SpansOfConversation> | Iterable<SpansOfConversation>,
  { service }: { readonly service: string },
): AsyncGenerator<string> {
  const resource = JSON.stringify({ attributes: attributeList({ "service.name": service }) });
  yield `${otlpBegin}{"resource":${resource},"scopeSpans":[{"scope":{"name":"turnlog"},"spans":[`;
  let separator = "\n";
  for await (const { id, spans } of conversations) {
    for await (const span of spans) {
      yield `${separator}${JSON.stringify(otlpSpan(id, span))}`;
      separator = ",\n";
    }
  }
  yield "\n]}]}]}\n";
}

function otlpSpan(conversation: ConversationId, { runId, start, end }: RecordedSpan): JsonObject {
  const { key, part, parent, name, kind, follows } = start;
  const ids = idsIn(conversation, runId);
  const { errorType, errorMessage } = end;
  const attributes = {
    ...start.attributes,
    ...end.attributes,
    ...(errorType === null ? {} : { "error.type": errorType }),
  };
  const message = errorMessage === null ? {} : { message: errorMessage };
  return {
    traceId: ids.trace(part),
    spanId: ids.span(part, key),
    ...(parent === null ? {} : { parentSpanId: ids.span(part, parent) }),
    ...{ name, kind: kind === "client" ? 3 : 1 },
    ...{ startTimeUnixNano: nanoseconds(start.at), endTimeUnixNano: nanoseconds(Math.max(start.at, end.at)) },
    attributes: attributeList(attributes),
    ...(follows === null
      ? {}
      : { links: [{ traceId: ids.trace(follows.key), spanId: ids.span(follows.key, follows.key) }] }),
    ...(errorType === null ? {} : { status: { code: 2, ...message } }),
  };
}

/** Each part of a run is a trace of its own, as it is when its process traces it. */
function idsIn(conversation: ConversationId, runId: string) {
  const digest = (kind: string, key: SpanKey): string =>
    sha256Hex(`turnlog/otlp/v1 ${kind} ${conversation} ${runId} ${key}`);
  return {
    trace: (part: SpanKey): string => digest("trace", part).slice(0, 32),
    // A later part may do the same again.
    span: (part: SpanKey, key: SpanKey): string => digest("span", `${part} ${key}`).slice(0, 16),
  };
}

const nanoseconds = (ms: number): string => `${ms}000000`;

const attributeList = (attributes: SpanAttributes): readonly JsonObject[] =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: attributeValue(value) }));

function attributeValue(value: SpanAttributes[string]): JsonObject {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "object") return { arrayValue: { values: value.map((each) => ({ stringValue: each })) } };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
