import { isEndedBySkip } from "../domain/decider/ended-by-skip.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import { type DeclaredSettings, settingsValue, useSettings } from "./declared-settings.ts";
import { byStream, type Projection } from "./projection.ts";

/** Tokens as the provider counted them; 0 for counts that it did not report. */
export type Usage = {
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
};

/** The cost of one model on one day (UTC). */
export type UsageRow = Usage & {
  readonly day: string;
  readonly model: string;
  /** Request bodies sent, including rejected ones, and their UTF-8 bytes; without direct requests of a caller to an endpoint. */
  readonly requests: number;
  readonly requestBytes: number;
};

export type UsageView = {
  /** One row per day and model, in the order of their first requests. */
  rows: readonly UsageRow[];
  /** The model in each declared settings. */
  models: DeclaredSettings<string>;
  /** Requests without an answer so far. */
  open: readonly (UsageOfRequest & { readonly inferenceId: string; readonly runId: string | null })[];
};

/** Tokens and bytes by model and day. A fork counts only itself; otherwise its parent would be counted twice. */
export const usage: Projection<UsageView> = {
  name: "usage",
  version: 2,
  lineage: "own",
  key: byStream,
  initial: () => ({ rows: [], models: [], open: [] }),
  apply(view, recorded) {
    applyEvent(view, recorded);
    return view;
  },
};

function applyEvent(view: UsageView, { event, at, runId }: RecordedEvent): void {
  switch (event.type) {
    case "SettingsDeclared": {
      const { model } = event.data.settings;
      if (typeof model === "string") view.models = useSettings(view.models, event.data.digest, model);
      return;
    }
    case "InferenceRequested":
    case "WarmUpRequested": {
      const { inferenceId, settingsDigest, requestBytes } = event.data;
      const model = settingsValue(view.models, settingsDigest);
      if (model !== undefined) view.models = useSettings(view.models, settingsDigest, model);
      const asked = { day: at.slice(0, 10), model: model ?? "unknown" };
      view.open = [...view.open, { inferenceId, runId, ...asked }];
      view.rows = addCost(view.rows, asked, { ...noUsage, requests: 1, requestBytes });
      return;
    }
    case "ResponseReceived":
    case "WarmUpAnswered": {
      const asked = view.open.find(({ inferenceId }) => inferenceId === event.data.inferenceId);
      close(view, event.data.inferenceId);
      if (asked === undefined) return;
      const cost = { ...usageOf(event.data.usage), requests: 0, requestBytes: 0 };
      view.rows = addCost(view.rows, asked, cost);
      return;
    }
    case "TurnCompacted": {
      const { usage: told, model = "unknown" } = event.data.window ?? {};
      if (told === undefined) return;
      const asked = { day: at.slice(0, 10), model };
      view.rows = addCost(view.rows, asked, { ...usageOf(told), requests: 0, requestBytes: 0 });
      return;
    }
    case "InferenceFailed":
    case "WarmUpFailed":
      close(view, event.data.inferenceId);
      return;
    case "EventSkipped":
      view.open = view.open.filter((asked) => !isEndedBySkip(runId, asked.runId));
      return;
    case "RunCompleted":
    case "RunFailed":
    case "RunCancelled":
      // Requests that are open when their run ends are never answered.
      view.open = [];
      return;
    default:
  }
}

function close(view: UsageView, answered: string): void {
  view.open = view.open.filter(({ inferenceId }) => inferenceId !== answered);
}

/** The total cost of conversations: one row per day and model, in the order of both. */
export function usageByDay(views: Iterable<Pick<UsageView, "rows">>): readonly UsageRow[] {
  const rowByName = new Map<string, UsageRow>();
  for (const { rows } of views) {
    for (const row of rows) {
      const name = `${row.day} ${row.model}`;
      rowByName.set(name, plus(rowByName.get(name) ?? emptyRow(row), row));
    }
  }
  const inOrder = [...rowByName].sort(([left], [right]) => (left < right ? -1 : 1));
  return inOrder.map(([, row]) => row);
}

export type UsageOfRequest = { readonly day: string; readonly model: string };
type Cost = Omit<UsageRow, keyof UsageOfRequest>;

function addCost(rows: readonly UsageRow[], asked: UsageOfRequest, cost: Cost): readonly UsageRow[] {
  const place = rows.findIndex(({ day, model }) => day === asked.day && model === asked.model);
  const row = plus(rows[place] ?? emptyRow(asked), cost);
  return place < 0 ? [...rows, row] : rows.with(place, row);
}

const emptyRow = ({ day, model }: UsageOfRequest): UsageRow => ({
  day,
  model,
  ...noUsage,
  requests: 0,
  requestBytes: 0,
});

const plus = (row: UsageRow, cost: Cost): UsageRow => ({
  ...{ day: row.day, model: row.model, ...addUsage(row, cost) },
  ...{ requests: row.requests + cost.requests, requestBytes: row.requestBytes + cost.requestBytes },
});

/** The usage of an answer; zero if it reports none. */
export const usageOf = (told: Usage | undefined): Usage => addUsage(noUsage, told ?? noUsage);

export const addUsage = (left: Usage, right: Usage): Usage => ({
  inputTokens: left.inputTokens + right.inputTokens,
  cachedInputTokens: left.cachedInputTokens + right.cachedInputTokens,
  outputTokens: left.outputTokens + right.outputTokens,
  reasoningTokens: left.reasoningTokens + right.reasoningTokens,
});

/** Input and output tokens together; cached and reasoning tokens are included in them. */
export const totalTokens = ({ inputTokens, outputTokens }: Usage): number => inputTokens + outputTokens;

export const noUsage: Usage = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 };
