import { isJsonObject, type JsonObject } from "../base/json.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import { byStream, type Projection } from "./projection.ts";

/** Tokens as the provider counted them; what it did not tell is 0. */
export type Usage = {
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
};

/** What one model cost on one day (UTC). */
export type UsageRow = Usage & {
  readonly day: string;
  readonly model: string;
  /** Bodies sent, refused ones included, and their UTF-8 bytes. */
  readonly requests: number;
  readonly requestBytes: number;
};

export type UsageView = {
  /** By day and model, in the order in which they were first asked. */
  readonly rows: Map<string, UsageRow>;
  readonly models: Map<string, string>;
  readonly open: Map<string, { readonly day: string; readonly model: string }>;
};

/** Tokens and bytes by model and day. A fork counts for itself only, or its parent would be paid for twice. */
export const usage: Projection<UsageView> = {
  name: "usage",
  version: 1,
  lineage: "own",
  key: byStream,
  initial: () => ({ rows: new Map(), models: new Map(), open: new Map() }),
  apply(view, recorded) {
    applyEvent(view, recorded);
    return view;
  },
};

function applyEvent(view: UsageView, { event, at }: RecordedEvent): void {
  switch (event.type) {
    case "SettingsDeclared": {
      const { model } = event.data.settings;
      if (typeof model === "string") view.models.set(event.data.digest, model);
      return;
    }
    case "InferenceRequested": {
      const { inferenceId, settingsDigest, requestBytes } = event.data;
      const asked = { day: at.slice(0, 10), model: view.models.get(settingsDigest) ?? "unknown" };
      view.open.set(inferenceId, asked);
      add(view, asked, { ...noUsage, requests: 1, requestBytes });
      return;
    }
    case "ResponseReceived": {
      const asked = view.open.get(event.data.inferenceId);
      view.open.delete(event.data.inferenceId);
      if (asked !== undefined) add(view, asked, { ...usageOf(event.data.usage), requests: 0, requestBytes: 0 });
      return;
    }
    case "InferenceFailed":
      view.open.delete(event.data.inferenceId);
      return;
    default:
  }
}

type Asked = { readonly day: string; readonly model: string };
type Cost = Omit<UsageRow, keyof Asked>;

function add(view: UsageView, { day, model }: Asked, cost: Cost): void {
  const key = `${day} ${model}`;
  const row = view.rows.get(key) ?? { day, model, ...noUsage, requests: 0, requestBytes: 0 };
  view.rows.set(key, {
    ...row,
    ...addUsage(row, cost),
    requests: row.requests + cost.requests,
    requestBytes: row.requestBytes + cost.requestBytes,
  });
}

/** Usage as the Responses API reports it. */
export function usageOf(reported: unknown): Usage {
  const told = isJsonObject(reported) ? reported : {};
  return {
    inputTokens: count(told, "input_tokens"),
    cachedInputTokens: count(nested(told, "input_tokens_details"), "cached_tokens"),
    outputTokens: count(told, "output_tokens"),
    reasoningTokens: count(nested(told, "output_tokens_details"), "reasoning_tokens"),
  };
}

export const addUsage = (left: Usage, right: Usage): Usage => ({
  inputTokens: left.inputTokens + right.inputTokens,
  cachedInputTokens: left.cachedInputTokens + right.cachedInputTokens,
  outputTokens: left.outputTokens + right.outputTokens,
  reasoningTokens: left.reasoningTokens + right.reasoningTokens,
});

const noUsage: Usage = usageOf(undefined);

function nested(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  return isJsonObject(value) ? value : {};
}

function count(object: JsonObject, name: string): number {
  const value = object[name];
  return typeof value === "number" ? value : 0;
}
