import { SpanStatusCode } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import * as z from "zod";

/** A span without ids and times: the spans that it is in and follows are named by what they say. */
export type ComparedSpan = {
  readonly name: string;
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly error: { readonly message: string | undefined } | null;
  readonly parent: string | null;
  /** The process's part of a run that it is in. */
  readonly part: string;
  readonly links: readonly string[];
};

type Plain = Omit<ComparedSpan, "parent" | "part" | "links"> & {
  readonly id: string;
  readonly parentId: string | null;
  readonly linkIds: readonly string[];
};

/** What names a span among those of a conversation. */
const labelOf = ({ name, attributes }: Pick<Plain, "name" | "attributes">): string =>
  [
    ...[name, attributes["turnlog.run.id"], attributes["turnlog.run.part"], attributes["turnlog.frame"]],
    ...[attributes["turnlog.inference.id"], attributes["turnlog.block.id"]],
  ].join(" ");

/** @param all - Spans that may be named by others, also those that never ended. */
function compared(spans: readonly Plain[], all: readonly Plain[]): readonly ComparedSpan[] {
  const labels = new Map(all.map((span) => [span.id, labelOf(span)]));
  const known = new Map(all.map((span) => [span.id, span]));
  const partOf = (span: Plain): string => {
    const above = known.get(span.parentId ?? "");
    return above === undefined ? labelOf(span) : partOf(above);
  };
  return spans
    .map((each) => ({ ...each, part: partOf(each) }))
    .map(({ id: _, parentId, linkIds, ...span }) => ({
      ...span,
      parent: parentId === null ? null : (labels.get(parentId) ?? "of another program"),
      links: linkIds.map((link) => labels.get(link) ?? "unknown"),
    }))
    .toSorted((left, right) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1));
}

type Tracer = { readonly ended: () => readonly ReadableSpan[]; readonly started: () => readonly ReadableSpan[] };

/** The spans that turnlog made of runs and ended, as OpenTelemetry's tracers had them. */
export const liveSpans = (tracers: readonly Tracer[], others: readonly Tracer[] = []): readonly ComparedSpan[] =>
  compared(
    tracers.flatMap((tracer) => ours(tracer.ended())),
    [...tracers, ...others].flatMap((tracer) => ours(tracer.started())),
  );

/** The same, with those that have not ended. */
export const begunSpans = (tracers: readonly Tracer[]): readonly ComparedSpan[] => {
  const begun = tracers.flatMap((tracer) => ours(tracer.started()));
  return compared(begun, begun);
};

const ours = (spans: readonly ReadableSpan[]): readonly Plain[] =>
  spans.filter(({ instrumentationScope }) => instrumentationScope.name === "turnlog").map(plainLive);

const plainLive = (span: ReadableSpan): Plain => ({
  id: span.spanContext().spanId,
  parentId: span.parentSpanContext?.spanId ?? null,
  linkIds: span.links.map(({ context }) => context.spanId),
  name: span.name,
  kind: span.kind,
  attributes: sorted(span.attributes),
  error: span.status.code === SpanStatusCode.ERROR ? { message: span.status.message } : null,
});

const valueSchema = z.union([
  z.strictObject({ stringValue: z.string() }).transform(({ stringValue }): unknown => stringValue),
  z.strictObject({ boolValue: z.boolean() }).transform(({ boolValue }): unknown => boolValue),
  z.strictObject({ intValue: z.string().regex(/^-?\d+$/) }).transform(({ intValue }): unknown => Number(intValue)),
  z.strictObject({ doubleValue: z.number() }).transform(({ doubleValue }): unknown => doubleValue),
  z
    .strictObject({ arrayValue: z.strictObject({ values: z.array(z.strictObject({ stringValue: z.string() })) }) })
    .transform(({ arrayValue }): unknown => arrayValue.values.map(({ stringValue }) => stringValue)),
]);
const attributesSchema = z.array(z.strictObject({ key: z.string(), value: valueSchema }));
const spanId = z.string().regex(/^[0-9a-f]{16}$/);
const traceId = z.string().regex(/^[0-9a-f]{32}$/);
const nanoseconds = z.string().regex(/^\d{19}$/);

/** OTLP/JSON, as far as turnlog writes it. */
const otlpSchema = z.strictObject({
  resourceSpans: z.tuple([
    z.strictObject({
      resource: z.strictObject({ attributes: attributesSchema }),
      scopeSpans: z.tuple([
        z.strictObject({
          scope: z.strictObject({ name: z.literal("turnlog") }),
          spans: z.array(
            z.strictObject({
              ...{ traceId, spanId, parentSpanId: spanId.optional(), name: z.string() },
              kind: z.union([z.literal(1), z.literal(3)]),
              ...{ startTimeUnixNano: nanoseconds, endTimeUnixNano: nanoseconds, attributes: attributesSchema },
              links: z.array(z.strictObject({ traceId, spanId })).optional(),
              status: z.strictObject({ code: z.literal(2), message: z.string().optional() }).optional(),
            }),
          ),
        }),
      ]),
    }),
  ]),
});

/** The spans of a file of OTLP/JSON. */
export function exportedSpans(text: string): readonly ComparedSpan[] {
  const { resourceSpans } = otlpSchema.parse(JSON.parse(text));
  const { spans } = resourceSpans[0].scopeSpans[0];
  if (new Set(spans.map((span) => span.spanId)).size < spans.length) throw new Error("two spans have one id");
  const plain = spans.map(
    (span): Plain => ({
      id: span.spanId,
      parentId: span.parentSpanId ?? null,
      linkIds: (span.links ?? []).map((link) => link.spanId),
      name: span.name,
      kind: span.kind === 3 ? 2 : 0,
      attributes: sorted(Object.fromEntries(span.attributes.map(({ key, value }) => [key, value]))),
      error: span.status === undefined ? null : { message: span.status.message },
    }),
  );
  return compared(plain, plain);
}

const sorted = (attributes: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(attributes).toSorted(([left], [right]) => (left < right ? -1 : 1)));
