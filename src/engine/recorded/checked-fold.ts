import { isJsonList, isJsonObject, type JsonValue } from "../../base/json.ts";
import { hasOwnDigest } from "../../domain/block-json.ts";
import type { BlockNames } from "../../domain/block-names.ts";
import { blocksIn } from "../../domain/events/blocks-in.ts";
import { type ConversationEvent, isRunEnd } from "../../domain/events/event.ts";
import type { BoundDigest, Decision } from "../../domain/events/inference-events.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { Turn } from "../../domain/turn.ts";
import { ConversationDamagedError } from "../../projections/damage.ts";
import type { ServerContext } from "../../projections/server-contexts/server-contexts.ts";
import { type ConversationView, conversationView } from "../../projections/views/conversation-view.ts";
import { buildRequest, heldBefore } from "../planning/build-request.ts";
import type { PlanRequest } from "../planning/plan-request.ts";
import { isOfErasure } from "../planning/repairs.ts";
import { settingsName } from "../planning/request-settings.ts";
import { recordedLoss } from "./cache-loss.ts";
import { type Codecs, hasErasedBody, recordedRequest, requestOf } from "./recorded-request.ts";

/** A member of an event that differs when it is computed again: the recorded value, and the expected one. */
export type DifferentField = { readonly field: string; readonly recorded: JsonValue; readonly replayed: JsonValue };

/** A part of an event that does not follow from it and the events before it. */
export type Mismatch = DifferentField & {
  readonly words: string;
  /** The error that the fold threw. */
  readonly cause?: unknown;
};

/** A fold that recomputes everything that events say about themselves and about earlier events, for verification and replay. */
export class CheckedFold {
  readonly #codecs: Codecs;
  /** Settings whose content was erased, or that differ from such: a plan that compares them would decide otherwise. */
  readonly #erasedSettings = new Set<string>();
  /** An erasure renewed the key of the names, so a block that a repair made has another name now. */
  #areNamesRenewed = false;
  view: ConversationView;

  constructor(stream: string, codecs: Codecs) {
    this.#codecs = codecs;
    this.view = conversationView.initial(stream);
  }

  /** Applies an inherited event of a fork without a check: verifying the parent's own stream checks it. */
  inherit(recorded: RecordedEvent): void {
    this.#noteSettings(recorded);
    this.view = conversationView.apply(this.view, recorded);
  }

  #noteSettings({ event, hasErased }: RecordedEvent): void {
    if (event.type !== "SettingsDeclared") return;
    const { digest, base = "" } = event.data;
    if (hasErased === true || this.#erasedSettings.has(base)) this.#erasedSettings.add(digest);
  }

  /** Whether planning would compare settings that were erased since. */
  #comparesErased({ settingsDigest }: PlanRequest): boolean {
    if (this.#erasedSettings.size === 0) return false;
    const held = this.view.server.contexts.all.map((context) => context.settingsDigest);
    return [settingsDigest, ...held].some((digest) => this.#erasedSettings.has(digest));
  }

  /**
   * Applies the next event. The fold compares the Turns; this also compares the names of blocks and settings.
   *
   * @param names - Those of the conversation.
   */
  take(recorded: RecordedEvent, names: BlockNames): Mismatch | null {
    const { event } = recorded;
    this.#noteSettings(recorded);
    this.#areNamesRenewed = names.isLost === true;
    const block = blocksIn(event).find((json) => !hasOwnDigest(json));
    if (block !== undefined) {
      const words = `block ${block.id} does not match its digest`;
      return { field: "block.digest", recorded: block.digest, replayed: null, words };
    }
    try {
      this.view = conversationView.apply(this.view, recorded);
    } catch (cause) {
      return { field: foldedField(event), recorded: null, replayed: null, words: damageWords(cause), cause };
    }
    // An erasure renews the key, so names of settings that may have been erased cannot be checked.
    if (event.type !== "SettingsDeclared" || names.isLost === true) return null;
    const { digest } = event.data;
    const settings = this.view.server.settings.get(digest);
    const found = settings === undefined ? null : settingsName(settings, names);
    return compare("digest", [digest, found], "its settings do not match their digest");
  }

  /**
   * Rebuilds the request that was applied last, and compares it with the record. With `decide` it is also planned again; without it
   * no rule is applied, so that a request of last year is right whatever the planner does today.
   *
   * @throws {TurnlogError} `unknown-codec` if its codec is not available.
   */
  checkRequest(recorded: RecordedEvent, decide?: (asked: PlanRequest) => Decision): Mismatch | null {
    const { decision, input, settingsDigest: digest, requestDigest, requestBytes } = requestOf(recorded);
    const { anchor, sendFrom } = decision;
    if (!this.view.server.settings.has(digest)) {
      return compare("settingsDigest", [digest, null], `its settings ${digest.slice(0, 12)}… were not declared`);
    }
    const asked = recordedRequest(this.view, recorded, this.#codecs);
    // Versions before did not look for it, and what it counts may have been erased since.
    const isCounted = decision.cache !== undefined && !this.#areNamesRenewed;
    const cache = isCounted ? { cache: recordedLoss(this.view, recorded) } : { cache: decision.cache };
    const decided =
      decide === undefined || isErasedSince(asked.turn, decision) || this.#comparesErased(asked)
        ? null
        : firstOtherDigest(decision, { ...decide(asked), ...cache }, "decision");
    if (decided !== null) return { ...decided, words: differenceWords(decided) };
    if (hasErasedBody(recorded))
      return compare("input.turn", [input.turn, asked.turn.digest], "its input is not part of the recorded Turn");
    const built = buildRequest(asked, decision);
    const context = heldBefore(asked.contexts, anchor);
    const isEmptyObject = anchor?.inferenceId === null;
    return (
      compare("input.blocks", [input.blocks, asked.turn.length], "its Turn has a different number of blocks") ??
      compare("input.turn", [input.turn, asked.turn.digest], "its input is not part of the recorded Turn") ??
      compare("requestDigest", [requestDigest, built.digest], otherBody(asked)) ??
      compare("requestBytes", [requestBytes, built.bytes], "its body differs in length from the recorded one") ??
      compare("decision.sendFrom", [sendFrom, anchor?.length ?? 0], "it does not send what follows its anchor") ??
      (anchor === null || isEmptyObject ? null : checkAnchor(anchor, context, asked.turn)) ??
      (this.#areNamesRenewed
        ? null
        : (compare("input.held", [input.held, built.input.held], otherHeld) ??
          (input.bound === undefined ? null : compareBound(input.bound, built.input.bound))))
    );
  }
}

/** The hash chain reveals a change in the log; only this check reveals a change in the codec. */
const otherBody = ({ codec: { name } }: PlanRequest): string =>
  `its rebuilt body differs from the body that was sent: the codec ${name} writes other bytes now (a codec that changes its bytes needs a new name, beside the old codec), or depends on time or chance`;

/** Whether a block that the request sent or left out has lost its content since: today it would be left out for that reason. */
function isErasedSince(turn: Turn, { sendFrom, repairs }: Decision): boolean {
  const told = new Set(repairs.filter(isOfErasure).map(({ index }) => index));
  return turn.after(sendFrom).some(({ isErased }, offset) => isErased && !told.has(sendFrom + offset));
}

const otherHeld = "the server held something else of it than was recorded";

const compareBound = (recorded: BoundDigest, made: BoundDigest | undefined): Mismatch | null =>
  compare(
    "input.bound",
    [recorded, made ?? null],
    "its answer's reasoning depends on another prefix than was recorded",
  );

function checkAnchor(anchor: NonNullable<Decision["anchor"]>, context: ServerContext | null, turn: Turn) {
  const { id, inferenceId, length } = anchor;
  const field = "decision.anchor";
  if (context === null)
    return compare(field, [anchor, null], `its anchor ${id} is not a response of this conversation`);
  const known = { id, inferenceId: context.inferenceId, length: context.length };
  return (
    compare(field, [{ id, inferenceId, length }, known], `its anchor ${id} differs from the recorded one`) ??
    compare(field, [turn.contextAt(length), context.turn], `what ${id} holds is not a prefix of its Turn`)
  );
}

function compare(field: string, [recorded, replayed]: readonly [JsonValue, JsonValue], words: string): Mismatch | null {
  const found = firstOtherDigest(recorded, replayed, field);
  return found && { ...found, words };
}

/** The first member, by path, in which two values differ as JSON; null if they are equal. */
export function firstOtherDigest(recorded: JsonValue, replayed: JsonValue, field: string): DifferentField | null {
  if (isJsonObject(recorded) && isJsonObject(replayed)) {
    for (const name of new Set([...Object.keys(recorded), ...Object.keys(replayed)])) {
      const found = firstOtherDigest(recorded[name] ?? null, replayed[name] ?? null, `${field}.${name}`);
      if (found !== null) return found;
    }
    return null;
  }
  if (isJsonList(recorded) && isJsonList(replayed) && recorded.length === replayed.length) {
    for (const [index, value] of recorded.entries()) {
      const found = firstOtherDigest(value, replayed[index] ?? null, `${field}.${index}`);
      if (found !== null) return found;
    }
    return null;
  }
  return recorded === replayed ? null : { field, recorded, replayed };
}

export const differenceWords = ({ field, recorded, replayed }: DifferentField): string =>
  `${field} is ${shown(recorded)} in the log, but ${shown(replayed)} when rebuilt`;

const maxShown = 80;

function shown(value: JsonValue): string {
  const text = JSON.stringify(value);
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
}

/** What is wrong with an event, as a text without its place. */
export function damageWords(error: unknown): string {
  const cause = error instanceof ConversationDamagedError && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}

/** The member that the fold compares with the Turn. */
function foldedField(event: ConversationEvent): string {
  const { type } = event;
  if (type === "RunStarted") return "base";
  if (type === "InferenceRequested") return "input.turn";
  return isRunEnd(event) || ["TurnEdited", "TurnReverted", "TurnCompacted"].includes(type) ? "after" : "event";
}
