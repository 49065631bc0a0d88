import { excerpt } from "../../base/printable.ts";
import { utf8Length } from "../../base/utf8.ts";
import type { Block } from "../../domain/block.ts";
import { isRequest } from "../../domain/events/event.ts";
import type { Decision, InferenceRequestedData } from "../../domain/events/inference-events.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { isAside } from "../../domain/frame.ts";
import type { Turn } from "../../domain/turn.ts";
import { outgoingTurn } from "../../engine/recorded/recorded-request.ts";
import type { ServerContext } from "../../projections/server-contexts/server-contexts.ts";
import type { ConversationView } from "../../projections/views/conversation-view.ts";
import type { TokensOfRequest, Verdict } from "./page-documents.ts";
import { type AnswerCost, tokensOf } from "./request-costs.ts";

/** What a layer got and handed on, on the way to a request. */
type Pass = {
  readonly name: string;
  readonly version: string;
  /** The frame that it called, which events of its edits name. */
  readonly frame: string;
  readonly given: Turn;
  readonly handedOn: Turn;
};

/** A request, and what was known and meant when it was sent; its outcome is added once it is recorded. */
export type Step = {
  readonly revision: number;
  readonly at: string;
  readonly runId: string | null;
  readonly runStart: number;
  readonly frame: string;
  readonly data: InferenceRequestedData;
  readonly verdict: Verdict;
  readonly model: string | null;
  /** The Turn that the outermost layer got. */
  readonly client: Turn;
  readonly passes: readonly Pass[];
  readonly outgoing: Turn;
  /** The newest context of the endpoint, and its Turn. */
  readonly newest: { readonly context: ServerContext; readonly turn: Turn } | null;
  /** How many contexts were known. */
  readonly contexts: number;
  /** About how many bytes the server held, so that they were not sent. */
  readonly heldBytes: number;
  outcome: Outcome | null;
};

type Outcome = {
  readonly revision: number;
  readonly at: string;
  readonly isFailure: boolean;
  readonly words: string;
  readonly responseId: string | null;
  readonly blocks: readonly Block[];
  readonly tokens: TokensOfRequest | null;
  readonly cost: AnswerCost;
};

/** The step that a request begins; null for other events. */
export function stepOf(recorded: RecordedEvent, view: ConversationView, held: HeldBytes): Step | null {
  const { event, revision, at, runId } = recorded;
  if (!isRequest(event) || event.type === "WarmUpRequested") return null;
  const { data } = event;
  const { run } = view.client;
  const frame = recorded.frame ?? "0";
  const outgoing = outgoingTurn(view, recorded);
  const { model } = view.server.settings.get(data.settingsDigest) ?? {};
  const isOwnRun = run !== null && run.id === runId;
  return {
    ...{ revision, at, runId, frame, data, outgoing, outcome: null },
    runStart: isOwnRun ? run.startedRevision : revision,
    verdict: verdictOf(data.decision),
    model: typeof model === "string" ? model : null,
    client: isOwnRun ? run.turns.given("0") : outgoing,
    passes: isOwnRun && !isAside(frame) ? passesOf(view, frame) : [],
    newest: view.newest.get(data.scope) ?? null,
    contexts: view.server.contexts.length,
    heldBytes: held.at(data),
  };
}

/** Each layer of the run, from the outermost: the frame of a request names the calls that lead to it. */
function passesOf({ client: { run } }: ConversationView, frame: string): readonly Pass[] {
  if (run === null) return [];
  const parts = frame.split(".");
  return run.started.stack.slice(0, parts.length - 1).map(({ name, version }, depth) => {
    const [outer, inner] = [parts.slice(0, depth + 1).join("."), parts.slice(0, depth + 2).join(".")];
    return { name, version, frame: inner, given: run.turns.given(outer), handedOn: run.turns.given(inner) };
  });
}

const wanted: ReadonlySet<string> = new Set(["provider-cannot-chain", "policy"]);

export function verdictOf({ strategy, reason, rejected }: Decision): Verdict {
  if (reason === "aside") return "aside";
  if (strategy !== "full") return strategy;
  if (reason === "first-request") return "first";
  return reason !== null && wanted.has(reason) && rejected === null ? "whole" : "full";
}

/** The bytes of settings and of contexts: the same estimate as in `turnlog ls`, so that sums agree. */
export class HeldBytes {
  readonly #ofSettings = new Map<string, number>();
  readonly #ofContexts = new Map<string, number>();

  /** About how many bytes a server held at a request. */
  at({ decision }: InferenceRequestedData): number {
    return this.#ofContexts.get(decision.anchor?.inferenceId ?? "") ?? 0;
  }

  note({ event }: RecordedEvent): void {
    if (event.type === "SettingsDeclared") {
      const { digest, settings, bytes = utf8Length(JSON.stringify(settings)) } = event.data;
      this.#ofSettings.set(digest, bytes);
    } else if (event.type === "InferenceRequested") {
      const { inferenceId, requestBytes, settingsDigest } = event.data;
      const own = Math.max(0, requestBytes - (this.#ofSettings.get(settingsDigest) ?? requestBytes));
      this.#ofContexts.set(inferenceId, this.at(event.data) + own);
    } else if (event.type === "ResponseReceived") {
      const { inferenceId, output } = event.data;
      const answer = output.reduce((sum, { payload }) => sum + utf8Length(JSON.stringify(payload)), 0);
      this.#ofContexts.set(inferenceId, (this.#ofContexts.get(inferenceId) ?? 0) + answer);
    }
  }
}

/** Adds the outcome of a request to its step. */
export function noteOutcome(
  steps: readonly Step[],
  { event, revision, at }: RecordedEvent,
  { view, cost }: { readonly view: ConversationView; readonly cost: AnswerCost },
): void {
  if (event.type !== "ResponseReceived" && event.type !== "InferenceFailed") return;
  const step = steps.findLast(({ data }) => data.inferenceId === event.data.inferenceId);
  if (step === undefined) return;
  const told = { revision, at, cost, tokens: tokensOf(cost) };
  if (event.type === "InferenceFailed") {
    const { message, status, kind, outcome } = event.data;
    const words = `${outcome === "rejected" ? "refused" : "failed"} (${status ?? kind}): ${excerpt(message, 160)}`;
    step.outcome = { ...told, isFailure: true, words, responseId: null, blocks: [] };
    return;
  }
  const { responseId, status } = event.data;
  step.outcome = {
    ...{ ...told, isFailure: false, responseId, blocks: blocksOf(step, view) },
    words: status === "completed" ? "" : (status ?? "no status"),
  };
}

/** The blocks of an answer that entered the Turn. */
const blocksOf = ({ data, outgoing }: Step, { client }: ConversationView): readonly Block[] =>
  client.run?.turns.response(data.inferenceId)?.after(outgoing.length) ?? [];

/** The part of a Turn's beginning that is sent as instructions. */
export const instructionBlocks = ({ outgoing, data }: Step): number =>
  data.input.outgoing === undefined ? 0 : Math.max(0, outgoing.length - data.input.blocks);

/** How a request was sent, or that it failed. */
export const shownVerdict = ({ verdict, outcome }: Step): Verdict => (outcome?.isFailure === true ? "failed" : verdict);

/** From the request to its answer; null without one. */
export const msOf = ({ at, outcome }: Step): number | null =>
  outcome === null ? null : Math.max(0, Date.parse(outcome.at) - Date.parse(at));
