import { excerpt } from "../../base/printable.ts";
import { utf8Length } from "../../base/utf8.ts";
import { blockFromJson } from "../../domain/block-json.ts";
import { isHidden, type Labels, labelsAfter } from "../../domain/decider/labels.ts";
import type { ConversationOrigin } from "../../domain/events/conversation-events.ts";
import type { InferenceRequestedData, ResponseReceivedData } from "../../domain/events/inference-events.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { entersTurn } from "../client-turn/apply-to-turns.ts";
import { type DeclaredSettings, settingsValue, useSettings } from "../declared-settings.ts";
import { byStream, type Projection } from "../projection.ts";
import { type AskedAnchor, askedAnchor, isAnotherAnchor } from "../server-contexts/exchange-context.ts";
import { type ListedRun, openRunAfter } from "./listed-run.ts";
import { isLoss } from "./run-record.ts";
import type { Waiting } from "./waiting.ts";

/** What a list of conversations shows of each. */
export type ConversationSummary = {
  /** A fork has the title and the labels of its parent until it gets its own. */
  title: string | null;
  /** Labels set by programs: `{ user: "ann" }`. */
  labels: Labels;
  /** The beginning of the first user message. */
  begins: string | null;
  /** How it began, and the conversation that it is a fork or a child of. */
  origin: ConversationOrigin["type"];
  parent: string | null;
  events: number;
  runs: number;
  /** The open run; null if there is none. */
  openRun: ListedRun | null;
  /** Whether one of its runs has losses: a cut-off answer, a part that was not sent, compaction and the like. */
  hasLosses: boolean;
  requests: number;
  /** How many requests continued from the newest context, from an older one, or sent everything. */
  chained: number;
  rebased: number;
  full: number;
  /** UTF-8 bytes of all request bodies, including those of rejected requests. */
  bytesSent: number;
  /**
   * UTF-8 bytes that were not sent again: for each request that continued from an answer of this conversation, the bytes of its
   * context, that is, of the bodies up to it without their settings, and of the payloads of its answers.
   */
  bytesSaved: number;
  startedAt: string;
  lastAt: string;
};

export type ConversationListView = {
  readonly summary: ConversationSummary;
  readonly stream: string;
  /** How its last run failed, if it did and nothing happened since that settles it; null also if somebody gave that run up. */
  failure: ListedFailure | null;
  /** The revision of its parent after which it continues; null for all but forks. */
  leftAt: number | null;
  /** The bytes of each declared settings' text. */
  settingsBytes: DeclaredSettings<number>;
  /** The bytes of the contexts of the newest requests, oldest first. */
  contexts: readonly ContextBytes[];
  /** The anchors of the newest requests without an answer. */
  asked: readonly (AskedAnchor & { readonly inferenceId: string })[];
};

/** A run that failed: the event that says so. */
export type ListedFailure = { readonly revision: number; readonly at: string; readonly message: string };

export type ContextBytes = { readonly inferenceId: string; readonly bytes: number };

/** The maximum number of simultaneous requests to track; beyond it, the oldest is dropped. */
const maxAsked = 64;

/** If a request continues from a context older than this many requests, its saving counts as zero. */
const maxContexts = 64;

/** One row per conversation: its name, its state and its cost. */
export const conversationList: Projection<ConversationListView> = {
  name: "conversation-list",
  version: 8,
  lineage: "own",
  key: byStream,
  initial: (stream) => ({
    summary: {
      ...{
        title: null,
        labels: {},
        begins: null,
        origin: "new",
        parent: null,
        events: 0,
        runs: 0,
        openRun: null,
        hasLosses: false,
      },
      ...{ requests: 0, chained: 0, rebased: 0, full: 0, bytesSent: 0, bytesSaved: 0, startedAt: "", lastAt: "" },
    },
    ...{ stream, failure: null, leftAt: null, settingsBytes: [], contexts: [], asked: [] },
  }),
  apply(view, recorded) {
    const { event, stream, revision, at } = recorded;
    if (event.type === "SettingsDeclared") {
      const { digest, settings, bytes = utf8Length(JSON.stringify(settings)) } = event.data;
      view.settingsBytes = useSettings(view.settingsBytes, digest, bytes);
    }
    const { summary } = view;
    if (event.type === "ConversationStarted" || event.type === "ConversationRelabelled") {
      const { title } = event.data;
      if (title !== undefined) summary.title = excerpt(title, 80);
      summary.labels = labelsAfter(summary.labels, event);
    }
    // A fork also sees the settings and the names of its ancestors.
    if (stream !== view.stream) return view;
    summary.events = revision + 1;
    if (summary.startedAt === "") summary.startedAt = at;
    summary.lastAt = at;
    noteLosses(view, recorded);
    applyEvent(view, recorded);
    return view;
  },
  places({ summary, failure, leftAt }, position) {
    // An erased conversation is not listed.
    if (summary.startedAt === "") return [];
    const marks: string[] = [listMarks.all, ...(isHidden(summary.labels) ? [] : [listMarks.visible])];
    for (const [name, value] of Object.entries(summary.labels)) marks.push(listMarks.label(name, value));
    if (summary.openRun !== null) marks.push(listMarks.open);
    const kinds = new Set(summary.openRun?.waiting.map((each) => each.kind));
    if (kinds.size > 0) for (const kind of [...kinds, "any"] as const) marks.push(listMarks.waiting(kind));
    if (summary.hasLosses) marks.push(listMarks.losses);
    if (failure !== null) marks.push(listMarks.failed);
    // If two were written in the same millisecond, the later position is newer. Padded, because `comparePositions` orders by length first.
    const place = `${String(position.length).padStart(4, "0")}:${position}`;
    const newest = { lastAt: `${summary.lastAt} ${place}`, startedAt: summary.startedAt };
    const places = marks.flatMap((mark) => listSorts.map((sort) => ({ list: listName(sort, mark), at: newest[sort] })));
    if (summary.parent === null) return places;
    // Children, which inherit nothing, come before forks.
    const left = String(leftAt === null ? 0 : leftAt + 1).padStart(10, "0");
    return [...places, { list: begunFrom(summary.parent), at: `${left} ${summary.startedAt}` }];
  },
};

function applyEvent(view: ConversationListView, recorded: RecordedEvent): void {
  const { summary } = view;
  const { event } = recorded;
  summary.openRun = openRunAfter(summary.openRun, recorded);
  view.failure = failureAfter(view.failure, recorded);
  switch (event.type) {
    case "ConversationStarted": {
      const { origin } = event.data;
      summary.origin = origin.type;
      if (origin.type === "fork" || origin.type === "child") summary.parent = origin.conversationId;
      if (origin.type === "fork") view.leftAt = origin.revision;
      return;
    }
    case "BlockAppended":
      if (event.data.block.kind === "user") summary.begins ??= excerpt(blockFromJson(event.data.block).text, 80);
      return;
    case "RunStarted":
      summary.runs += 1;
      return;
    case "InferenceRequested":
      noteRequest(view, event.data);
      return;
    case "ResponseReceived":
      noteAnswer(view, event.data);
      return;
    default:
  }
}

/** The orders of lists: by the time of the newest or of the first event. */
export const listSorts = ["lastAt", "startedAt"] as const;
export type ListSort = (typeof listSorts)[number];

/** Marks that filter lists without reading a row. */
export const listMarks = {
  all: "all",
  visible: "visible",
  open: "open",
  losses: "losses",
  failed: "failed",
  waiting: (kind: Waiting["kind"] | "any") => `waiting ${kind}`,
  label: (name: string, value: string) => `label ${JSON.stringify([name, value])}`,
} as const;

/** The list of all conversations with a mark, ordered by a time. */
export const listName = (sort: ListSort, mark: string): string => `${sort} ${mark}`;

/** The list of the conversations that began from another one, in the order of the revisions at which they left it. */
export const begunFrom = (parent: string): string => `begun from ${parent}`;

function failureAfter(failure: ListedFailure | null, { event, revision, at }: RecordedEvent): ListedFailure | null {
  switch (event.type) {
    case "RunFailed": {
      const { kind, message } = event.data;
      // A person who gave a run up does not wait for it.
      return kind === "abandoned" ? null : { revision, at, message: excerpt(message, 160) };
    }
    case "RunStarted":
    case "RunCompleted":
    case "RunCancelled":
    case "TurnReverted":
    case "ConversationStarted":
      return null;
    default:
      return failure;
  }
}

/** Records whether a run has losses, as in `result.losses`; a list needs no more. */
function noteLosses(view: ConversationListView, { event }: RecordedEvent): void {
  if (event.type === "InferenceRequested") {
    const { inferenceId, decision } = event.data;
    view.asked = [...view.asked.slice(1 - maxAsked), { inferenceId, ...askedAnchor(decision) }];
  }
  view.summary.hasLosses ||= isLost(view, event);
  if (event.type === "ResponseReceived" || event.type === "InferenceFailed")
    view.asked = view.asked.filter(({ inferenceId }) => inferenceId !== event.data.inferenceId);
}

function isLost({ asked }: ConversationListView, event: RecordedEvent["event"]): boolean {
  switch (event.type) {
    case "InferenceRequested":
      return event.data.decision.repairs.some(isLoss);
    case "ResponseReceived": {
      const { inferenceId, output, withheld = [] } = event.data;
      const anchor = asked.find((each) => each.inferenceId === inferenceId);
      if (anchor === undefined) return false;
      return isAnotherAnchor(anchor, event.data) || withheld.length > 0 || !output.every(entersTurn);
    }
    case "InferenceFailed":
      return event.data.partial.length > 0;
    case "TurnEdited":
      return event.data.compaction !== undefined;
    case "AnchorInvalidated":
      return event.data.reason === "suspect";
    case "ReasoningQuarantined":
      return true;
    default:
      return false;
  }
}

function noteRequest(view: ConversationListView, request: InferenceRequestedData): void {
  const { summary } = view;
  const { inferenceId, settingsDigest, requestBytes, decision } = request;
  summary.requests += 1;
  summary[decision.strategy] += 1;
  summary.bytesSent += requestBytes;
  const saved = view.contexts.find((context) => context.inferenceId === decision.anchor?.inferenceId)?.bytes ?? 0;
  summary.bytesSaved += saved;
  const settingsBytes = settingsValue(view.settingsBytes, settingsDigest);
  if (settingsBytes !== undefined) view.settingsBytes = useSettings(view.settingsBytes, settingsDigest, settingsBytes);
  const bytes = saved + Math.max(0, requestBytes - (settingsBytes ?? requestBytes));
  view.contexts = [...view.contexts.slice(1 - maxContexts), { inferenceId, bytes }];
}

function noteAnswer(view: ConversationListView, { inferenceId, output }: ResponseReceivedData): void {
  const answer = output.reduce((sum, { payload }) => sum + utf8Length(JSON.stringify(payload)), 0);
  view.contexts = view.contexts.map((context) =>
    context.inferenceId === inferenceId ? { inferenceId, bytes: context.bytes + answer } : context,
  );
}
