import { dollarText, parseDollars } from "../../../base/dollars.ts";
import { type JsonObject, textOrNull } from "../../../base/json.ts";
import { isEndedBySkip } from "../../../domain/decider/ended-by-skip.ts";
import { type Labels, labelsAfter } from "../../../domain/decider/labels.ts";
import type { CacheLoss, InferenceRequestedData } from "../../../domain/events/inference-events.ts";
import type { RecordedEvent } from "../../../domain/events/recorded.ts";
import type { Counts, ReportedUsage } from "../../../domain/events/shared.ts";
import { type DeclaredSettings, settingsValue, useSettings } from "../../../projections/declared-settings.ts";
import { byStream, type Projection, type RowPlace } from "../../../projections/projection.ts";
import { addToCells, type BillCell, type BillKey, type BillSums, nothingBilled } from "./bill-cells.ts";
import { type CountedPart, isFullyTold, partsOf, unansweredPart } from "./billed-parts.ts";
import { declaredAfter } from "./billed-settings.ts";
import {
  type EarlierAnswer,
  judge,
  type Miss,
  type MissDecision,
  type MissReader,
  missed,
  type PlannedRequest,
  plannedAs,
} from "./misses.ts";
import type { PrefixUses } from "./prefix-uses.ts";

/** How the tokens of an answer are read; only codecs know the words of a wire. */
export type CountsReader = {
  /** The members of settings on which a price depends: an answer that repeats one is recorded without it. */
  readonly members: ReadonlySet<string>;
  /** The counts of an answer, also of one that was recorded without `counts`. */
  readonly countsOf: (answer: CountedAnswer) => Counts;
};

/** An answer, or the part of it that came. */
export type CountedAnswer = {
  readonly usage: ReportedUsage;
  /** Its other members, with those that it repeats from the settings. */
  readonly members: JsonObject;
  /** The name of the codec; null if it is not known. */
  readonly encoder: string | null;
};

/** An answer as its event holds it. */
type ToldAnswer = Pick<CountedAnswer, "usage"> & {
  readonly rest: JsonObject;
  readonly echoed: readonly string[];
  readonly firstMs?: number | undefined;
};

type OpenRequest = Pick<BillKey, "day" | "endpoint" | "declared" | "run"> & {
  readonly inferenceId: string;
  readonly runId: string | null;
  readonly bytes: number;
  readonly encoder: string;
  readonly settings: JsonObject;
  /** Whether it was asked before the time from which the bill counts. */
  readonly isBefore: boolean;
  /** In rows about the cache. */
  readonly planned?: PlannedRequest;
};

export type BillView = {
  cells: readonly BillCell[];
  /** Requests without an outcome so far. */
  open: readonly OpenRequest[];
  /** The members that prices depend on, by declared settings. */
  settings: DeclaredSettings<JsonObject>;
  labels: Labels;
  /** The conversation and the run that opened this one for a subagent. */
  cause: { readonly conversation: string; readonly runId: string } | null;
  /** How many events an operator has skipped. */
  skipped: number;
  /** In rows about the cache: the newest answered requests. */
  earlier?: readonly EarlierAnswer[];
  /** When it used which settings prefixes, which other conversations may share. */
  uses?: PrefixUses;
};

/** What a bill of one fold keeps apart, beyond the saved rows, which would grow with every run. */
export type BillDetail = {
  readonly runs?: boolean;
  /** Only requests from this time on, as ISO text. */
  readonly since?: string | null;
  /** For rows about the cache: judges the misses, whose tokens are then in cells of their own. */
  readonly misses?: MissReader;
  /** What requests of older versions gave up, by their ids: found by a fold of the whole conversation. */
  readonly looked?: ReadonlyMap<string, CacheLoss | null>;
};

/** Requests, bytes, tokens and told money of a conversation. A fork counts only itself; a child names what opened it. */
export function billOf(reader: CountsReader, detail: BillDetail = {}): Projection<BillView> {
  const apply = applying(reader, detail);
  return {
    name: detail.misses === undefined ? "bill" : "cache",
    version: detail.misses === undefined ? 1 : 3,
    lineage: "own",
    key: byStream,
    initial: () => ({ cells: [], open: [], settings: [], labels: {}, cause: null, skipped: 0 }),
    apply(view, recorded) {
      apply(view, recorded);
      return view;
    },
    places: ({ cause }) => (cause === null ? [] : [{ list: childrenOf(cause.conversation), at: "" }]),
  };
}

/** The list of the rows of a conversation's children. */
export const childrenOf = (conversation: string): RowPlace["list"] => `children of ${conversation}`;

/** All cells of a view; a request without an outcome counts as one that told nothing. */
export const cellsOf = ({ cells, open }: BillView): readonly BillCell[] => [
  ...cells,
  ...open
    .filter(({ isBefore }) => !isBefore)
    .map((asked) => ({ ...keyOf(asked, unansweredPart), ...asking(asked, 1) })),
];

const applying =
  ({ members, countsOf }: CountsReader, { runs = false, since = null, misses, looked }: BillDetail) =>
  (view: BillView, { event, at, runId, revision, hasErased }: RecordedEvent): void => {
    const isBefore = since !== null && at < since;
    const answered = (inferenceId: string, told: ToldAnswer): void => {
      const asked = take(view, inferenceId);
      const { settings = {}, encoder = null } = asked ?? {};
      const repeated = Object.fromEntries(told.echoed.map((name) => [name, settings[name]]));
      const counts = countsOf({ usage: told.usage, encoder, members: { ...told.rest, ...repeated } });
      const request = asked ?? { ...unknownRequest, day: at.slice(0, 10), run: runs ? runId : null, isBefore };
      const answer = { counts, answer: told.rest, answeredAt: at, firstMs: told.firstMs ?? null };
      count(view, request, counts, misses && judge(view, request, answer, misses));
    };
    switch (event.type) {
      case "ConversationStarted": {
        const { origin } = event.data;
        view.labels = labelsAfter(view.labels, event);
        view.cause = origin.type === "child" ? { conversation: origin.conversationId, runId: origin.runId } : null;
        return;
      }
      case "ConversationRelabelled":
        view.labels = labelsAfter(view.labels, event);
        return;
      case "SettingsDeclared":
        view.settings = declaredAfter(view.settings, event.data, {
          members,
          isErased: hasErased === true,
          isOutlined: misses !== undefined,
        });
        return;
      case "InferenceRequested":
      case "WarmUpRequested":
        request(view, event.data, {
          ...{ runId, isBefore, day: at.slice(0, 10), run: runs ? runId : null },
          ...(misses === undefined
            ? {}
            : {
                planned: plannedRequest(view, event.data, { ...plannedAs(event.data, looked), at, revision }, misses),
              }),
        });
        return;
      case "ResponseReceived":
      case "WarmUpAnswered": {
        const { inferenceId, usage, rest, echoed, firstMs } = event.data;
        if (usage === undefined) endUntold(view, (asked) => asked.inferenceId === inferenceId);
        else answered(inferenceId, { usage, rest, echoed, firstMs });
        return;
      }
      case "InferenceFailed":
      case "WarmUpFailed": {
        const { inferenceId, usage, outcome } = event.data;
        if (usage !== undefined) answered(inferenceId, { usage, rest: {}, echoed: [] });
        else if (outcome === "rejected") endUnbilled(view, inferenceId);
        else endUntold(view, (asked) => asked.inferenceId === inferenceId);
        return;
      }
      case "TurnCompacted": {
        const { window } = event.data;
        if (window?.usage === undefined) return;
        const { usage, model = null, rest, scope } = window;
        const asked = { ...unknownRequest, day: at.slice(0, 10), run: runs ? runId : null, isBefore };
        const counts = countsOf({ usage, members: rest, encoder: null });
        count(view, { ...asked, endpoint: endpointOf(scope), declared: model }, counts);
        return;
      }
      case "EventSkipped":
        view.skipped += 1;
        endUntold(view, (asked) => isEndedBySkip(runId, asked.runId));
        return;
      case "RunCompleted":
      case "RunFailed":
      case "RunCancelled":
        // Requests that are open when their run ends are never answered.
        endUntold(view, (asked) => asked.runId === runId);
        return;
      default:
    }
  };

function plannedRequest(
  { settings: known }: BillView,
  { encoder, scope, settingsDigest, decision }: InferenceRequestedData,
  planned: MissDecision & { readonly at: string; readonly revision: number },
  { prefixOf }: MissReader,
): PlannedRequest {
  const settings = settingsValue(known, settingsDigest) ?? {};
  const model = textOrNull(settings["model"]) ?? "";
  const prefix = prefixOf({ encoder, scope, model, at: planned.at, settings, details: decision.details });
  return { ...planned, prefix, isAside: decision.reason === "aside" };
}

function request(
  view: BillView,
  { inferenceId, settingsDigest, requestBytes: bytes, encoder, scope }: InferenceRequestedData,
  when: Pick<OpenRequest, "day" | "run" | "runId" | "isBefore" | "planned">,
): void {
  const settings = settingsValue(view.settings, settingsDigest);
  if (settings !== undefined) view.settings = useSettings(view.settings, settingsDigest, settings);
  const declared = textOrNull(settings?.["model"]);
  const asked = {
    ...when,
    inferenceId,
    bytes,
    encoder,
    settings: settings ?? {},
    endpoint: endpointOf(scope),
    declared,
  };
  view.open = [...view.open, asked];
}

/** A request whose event cannot be read, or that was recorded as an answer alone. Its tokens were spent all the same. */
const unknownRequest = {
  endpoint: null,
  declared: null,
  inferenceId: "",
  runId: null,
  bytes: 0,
  encoder: "",
  settings: {},
};

/** Takes a request out of those that are open; undefined if it is not among them. */
function take(view: BillView, wanted: string): OpenRequest | undefined {
  const asked = view.open.find(({ inferenceId }) => inferenceId === wanted);
  if (asked !== undefined) view.open = view.open.filter((other) => other !== asked);
  return asked;
}

/** The provider may have billed these requests, and has not said what. */
function endUntold(view: BillView, isEnded: (asked: OpenRequest) => boolean): void {
  const ended = view.open.filter(isEnded);
  if (ended.length > 0) view.open = view.open.filter((asked) => !ended.includes(asked));
  for (const asked of ended) if (!asked.isBefore) addCell(view, keyOf(asked, unansweredPart), asking(asked, 1));
}

/** The provider refused the request before it acted, so it billed nothing. */
function endUnbilled(view: BillView, id: string): void {
  const asked = take(view, id);
  if (asked !== undefined && !asked.isBefore) addCell(view, keyOf(asked, unansweredPart), asking(asked, 0));
}

function count(view: BillView, asked: OpenRequest, counts: Counts, miss?: Miss): void {
  if (asked.isBefore) return;
  const money = counts.usd === undefined ? null : parseDollars(counts.usd);
  const isPaid = money !== null;
  const usd = dollarText(money ?? 0n);
  const parts = partsOf(counts);
  if (parts === null) {
    const { served = null, tier = null } = counts;
    const key = { ...keyOf(asked, { served, tier, size: null, isPaid }), ...(miss && { cause: "untold" }) };
    addCell(view, key, { ...asking(asked, 0), usd, contradictory: 1 });
    return;
  }
  for (const [place, part] of parts.entries()) {
    const own = place === 0 ? { ...asking(asked, isFullyTold(counts) ? 0 : 1), usd } : nothingBilled;
    const key = keyOf(asked, { ...part, isPaid });
    const cells =
      place > 0 || miss === undefined
        ? [{ key, sums: { ...own, ...part.tokens } }]
        : missed(key, { ...own, ...part.tokens }, miss);
    for (const { key: each, sums } of cells) addCell(view, each, sums);
  }
}

const keyOf = (
  { day, endpoint, declared, run }: Pick<OpenRequest, "day" | "endpoint" | "declared" | "run">,
  { served, tier, size, isPaid = false }: Pick<CountedPart, "served" | "tier" | "size"> & { readonly isPaid?: boolean },
): BillKey => ({ day, endpoint, declared, served, tier, size, isPaid, run });

const asking = ({ inferenceId, bytes }: OpenRequest, untold: number): BillSums => ({
  ...nothingBilled,
  ...{ requests: inferenceId === "" ? 0 : 1, bytes, untold },
});

function addCell(view: BillView, key: BillKey, sums: BillSums): void {
  view.cells = addToCells(view.cells, key, sums);
}

/** `openai-responses https://api.openai.com/v1`: what a scope begins with. */
export const endpointOf = (scope: string): string => scope.split(" ", 2).join(" ");
