import { messageOf } from "../../base/error-message.ts";
import { frozenJson } from "../../base/frozen-json.ts";
import { type JsonValue, objectsOf, textOrNull } from "../../base/json.ts";
import {
  type ContentFilter,
  contentFilterSchema,
  type InferenceFailedData,
} from "../../domain/events/inference-events.ts";
import type { ReportedUsage } from "../../domain/events/shared.ts";
import { failureKinds, ProviderError } from "../ports/provider-error.ts";

/** The part of a failure that can be recorded: its provider may have been written without types. */
export function failureData(error: ProviderError, usage: ReportedUsage | null) {
  const body = asJson(error.body);
  const partial = asJson([...error.partial]);
  const contentFilters = contentFiltersOf(error);
  const retryAfterMs = asNumber(error.retryAfterMs);
  return {
    kind: failureKinds.find((kind) => kind === error.kind) ?? "unknown",
    outcome: error.outcome === "rejected" ? "rejected" : "unknown",
    message: messageOf(error),
    status: Number.isSafeInteger(error.status) ? error.status : null,
    code: textOrNull(error.providerCode),
    param: textOrNull(error.param),
    ...(body === null ? {} : { body }),
    partial: Array.from(objectsOf(partial)),
    ...(usage === null ? {} : { usage }),
    ...(contentFilters.length === 0 ? {} : { contentFilters }),
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
    ...(typeof error.shouldRetry === "boolean" ? { shouldRetry: error.shouldRetry } : {}),
    ...(typeof error.requestId === "string" ? { requestId: error.requestId } : {}),
  } as const;
}

/** Rebuilds a recorded failure for the code that reacts to it. */
export const failureOf = (data: InferenceFailedData): ProviderError =>
  new ProviderError(data.message, {
    kind: failureKinds.find((kind) => kind === data.kind) ?? "unknown",
    outcome: data.outcome,
    status: data.status,
    providerCode: data.code,
    param: data.param,
    partial: data.partial,
    retryAfterMs: data.retryAfterMs ?? null,
    shouldRetry: data.shouldRetry ?? null,
    requestId: data.requestId ?? null,
    contentFilters: data.contentFilters ?? [],
    body: data.body ?? null,
  });

const asNumber = (value: unknown): number | null => (Number.isFinite(value) ? Number(value) : null);

/** The content filters of the declared type. */
const contentFiltersOf = ({ contentFilters }: ProviderError): ContentFilter[] =>
  contentFilters.flatMap((filter) => {
    const parsed = contentFilterSchema.safeParse(filter);
    return parsed.success ? [parsed.data] : [];
  });

function asJson(value: JsonValue): JsonValue {
  try {
    return frozenJson(value, "it");
  } catch {
    return null;
  }
}
