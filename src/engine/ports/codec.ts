import type { JsonObject, JsonValue } from "../../base/json.ts";
import type { Anchor } from "../../domain/anchor.ts";
import type { Block } from "../../domain/block.ts";
import type { ContentFilter, Withheld } from "../../domain/events/inference-events.ts";
import type { Adjustments } from "../../domain/events/run-events.ts";
import type { Counts, ReportedUsage } from "../../domain/events/shared.ts";
import { toolResult } from "../../domain/make-block.ts";
import type { Wire } from "../../domain/wire.ts";
import type { AnchorKind } from "./anchor-kind.ts";
import type { Capabilities, Lesson } from "./capabilities.ts";

/**
 * How a provider's wire encodes blocks as requests, and how its answers decode to blocks. Pure. Only the codec knows the words of
 * its wire; planning, runs and projections use turnlog's own (docs/EVENTS.md).
 *
 * Only `encodeRequest` and the block of `prompt` are frozen under `name`, because recorded requests are always rebuilt with them. A
 * codec that would write other bytes gets a new name, beside the old one; rules may be fixed at any time.
 *
 * `defineCodec` provides what most wires have in common.
 */
export interface Codec {
  /** `openai-responses/1`: part of every recorded request. */
  readonly name: string;
  /** `openai-responses`: part of the endpoint scope, so that a new version does not orphan anchors. */
  readonly family: string;

  /**
   * Adds these texts to the instructions in the settings.
   *
   * @throws {TurnlogError} `instructions-hidden` if the instructions are not a text that can be added to.
   */
  instruct(settings: Settings, texts: readonly string[]): Settings;
  /**
   * Applies the adjustments of a run to the settings; absent if the wire takes none. Not frozen: the adjusted settings are recorded
   * with the request.
   *
   * @throws {TypeError} if this wire cannot express an adjustment.
   */
  adjust?(settings: Settings, adjustments: Adjustments): Settings;
  /** Settings with which the server stores nothing, unless they already choose what it stores; absent if the wire cannot say so. */
  unstored?(settings: Settings): Settings;
  /** Settings that offer these tools, and request what an endpoint of these capabilities can give. */
  offer(
    settings: Settings,
    offered: { readonly tools: readonly OfferedTool[]; readonly capabilities: Capabilities },
  ): Settings;
  /** The names of the tools that the settings offer to the model. */
  offeredTools(settings: Settings): readonly string[];
  /** The capabilities of such an endpoint for a request with these settings; absent: all of them. */
  capable?(capabilities: Capabilities, settings: Settings): Capabilities;
  /** Whether the model reads its reasoning of the current turn only with these settings; absent, or `all`: it reads all of it. */
  readsReasoning?(settings: Settings): "all" | "turn";
  /** What requests may do with the anchors of its answers, by kind. Anchors of a kind that is not listed are never continued. */
  readonly anchors: Readonly<Record<string, AnchorKind>>;

  /** Which blocks are calls and which are results: rule: Planning and shaping, 3. */
  readonly pairs: CallPairs;
  /**
   * The server takes the results of an answer's calls together, before anything else: if something other than a result follows a
   * result while a call is still open, the request answers that call there. Absent: results may come between the calls of one
   * answer.
   */
  readonly resultsStandTogether?: boolean;
  /**
   * The id that a request uses for a call of this id: the same, if the server accepts it; the server always accepts the returned
   * id. Different ids stay different, and the request records each replacement. Absent: the server accepts every id.
   */
  callIdFor?(callId: string): string;
  /** A result contains the name of its tool, so a request needs the names of calls that it does not contain itself. */
  readonly namesCalls?: boolean;
  /**
   * Why a request cannot carry the block, as a text for people; null if it can. The request records the reason, and a replay compares it:
   * once released, its words stay.
   */
  unsendableReason(block: Block, options: { readonly withId: boolean }): string | null;
  /**
   * Why a request cannot carry this part of a message, or of a tool's list of parts; null if it can. The block is sent without the
   * part, and `unsendableReason` judges the rest. The reason is recorded, too. Absent: a block is sent whole or not at all.
   */
  unsendablePart?(part: JsonObject, block: Block): string | null;
  /**
   * The rule, by name, that keeps a block of an answer from being sent because of the other blocks of that answer; null if none
   * does. Absent: blocks do not depend on each other.
   */
  brokenGroupRule?(block: Block, group: GroupPlace): string | null;
  /**
   * The reason, by name, why a request cannot express exactly how a block follows the one before it; null if it can. Absent: it
   * always can. This only reports: `encodeRequest` makes the change, and the decision records it.
   */
  restated?(block: Block, before: Block | null): string | null;
  /**
   * The rule, by name, why a block is sent without the signature that its endpoint gave it, or with a stand-in for one; null if it
   * is sent as it is. Absent: the wire has no signatures.
   */
  standInRule?(block: Block, place: SignedPlace): string | null;
  /**
   * A message of the user that is added to a request which the server would otherwise reject for how it ends; absent if the server
   * accepts every end.
   */
  readonly prompt?: Prompt;
  /** Whether the server accepts the block only at the end of a request. */
  standsLast?(block: Block): boolean;

  /**
   * What a body contains beyond Turn, settings and anchor. The decision records it (`details`), and `encodeRequest` reads it from
   * there. Absent: nothing more.
   */
  detailsOf?(planned: PlannedParts): JsonObject | undefined;
  /** The exact text of a request's body: a pure function, frozen under `name` (rule: The exact request). */
  encodeRequest(parts: RequestParts): string;
  /** The capability that an endpoint seems to lack, by how it rejected a request with these settings; null if the rejection shows none. */
  lessonOf?(refusal: Refusal, settings: Settings): Lesson | null;

  /**
   * The effects that the model's side may have besides answering, beyond those that the settings show by `background` and by
   * `tools` that are not functions, as a text for people; null for none. Absent: none. A request with such effects is not retried
   * if its outcome is unknown.
   */
  ownEffects?(settings: Settings): string | null;
  /**
   * Whether a server may pause an answer with these settings (`isPaused`): an engine without tools then needs its tool loop, which
   * asks the server to continue. Absent: it never does.
   */
  mayPause?(settings: Settings): boolean;
  /** Decodes an answer: its blocks in the order in which the model made them. */
  readAnswer(response: JsonObject, asked: AnswerContext): Answer;
  /**
   * The tokens by price class in a usage report, and what their price depends on in the other members of its answer. A count that the
   * report lacks is absent, unless the wire leaves out zeros. It also reads answers that were recorded without `counts`. Absent: the
   * answer's `usage` has them, or nothing more is known than its four counts.
   */
  countsIn?(reported: JsonValue, answer: JsonObject): Counts;
  /** The response that an answer was decoded from: equal as JSON, except for the order of members (rule: Nothing is lost). */
  writeAnswer(answer: RecordedAnswer): JsonObject;
  /** The items of a response that cannot be read as a whole; absent if its items cannot be read on their own. */
  itemsOf?(response: JsonObject): readonly JsonObject[];
}

/** The result that a request gives for a call without one, on every wire. Frozen, because recorded requests are always rebuilt with it. */
export const abortedResult = (callId: string): Block => toolResult({ callId, output: "aborted" });

/** The request that an answer belongs to. */
export type AnswerContext = {
  /** The id of the request. It is the same each time the answer is decoded, so ids of calls can be derived from it. */
  readonly inferenceId: string;
  readonly settings: Settings;
  readonly capabilities: Capabilities;
  /** The connection that the answer came on, if the server may continue there from answers that it does not store. */
  readonly lives?: JsonObject | undefined;
};

/** An answer in turnlog's terms. `rest` keeps everything else as it came, so that the whole response can be written again. */
export type Answer = {
  readonly id: string | null;
  readonly status: string | null;
  /** Whether the answer is complete. turnlog keeps the text of an incomplete one, but neither executes nor sends its calls. */
  readonly isComplete: boolean;
  /**
   * The server has paused in the middle of the answer, and continues if it is asked again with that answer at the end of the
   * request. Its codec has `mayPause`.
   */
  readonly isPaused?: boolean;
  /** What a later request may name to continue from this answer, and why the server would reject that, if it would. */
  readonly anchor?: Anchor & { readonly unusable?: string };
  /** What the answer says about its request: under `anchor` the id that it continued from, or null. */
  readonly echo?: JsonObject;
  /** The error that the answer reports, if any: the run fails with it as the provider's error. */
  readonly failure?: { readonly message: string; readonly code: string | null };
  readonly blocks: readonly Draft[];
  /** The server stores the items of its blocks, so that a later request may refer to them by id. */
  readonly keepsItems?: boolean;
  /** Tokens as the provider counted them, if it did, and its whole report. */
  readonly usage?: Partial<ReportedUsage> & Pick<ReportedUsage, "reported">;
  /** Reasoning in the request that the server says it withheld from the model. */
  readonly withheld?: readonly Withheld[];
  /** The findings of the server's content filters; `rest` has them in the server's own form. */
  readonly contentFilters?: readonly ContentFilter[];
  readonly rest: JsonObject;
};

/** An answer as the log has it: its blocks are those of the conversation. */
export type RecordedAnswer = Omit<Answer, "blocks"> & { readonly blocks: readonly Block[] };

/** A block of an answer as its codec makes it; the engine adds which answer it came in. `user` and `toolCall` make drafts too. */
export type Draft = Pick<Block, "kind" | "payload"> & { readonly wire?: Partial<Wire> | null };

/** A tool as the settings offer it. */
export type OfferedTool = { readonly name: string; readonly description: string; readonly parameters: JsonObject };

/** The settings of a request: every member of its body that comes from neither the Turn nor the anchor. */
export type Settings = JsonObject;

/** What a request body is made from. */
export type RequestParts = {
  readonly settings: Settings;
  readonly input: readonly SentBlock[];
  readonly anchor: Anchor | null;
  readonly transport: string;
  /** What else the body contains, as the decision records it. */
  readonly details?: JsonObject | undefined;
};

/** What is known of a request when `detailsOf` is called. */
export type PlannedParts = Pick<RequestParts, "settings" | "anchor"> & {
  /** What the endpoint can do, as far as is known when the request is planned. */
  readonly capabilities: Capabilities;
  /** The newest answer of this endpoint in the conversation; null if there is none, or the request is a warm-up. */
  readonly newest: NamedAnswer | null;
  /** The number of blocks that it sends. */
  readonly blocks: number;
  /** The model's blocks from this endpoint since the last message of anyone else; results of its calls do not count as messages. */
  readonly said: readonly Block[];
  /**
   * How much of it the endpoint has read before: the numbers of blocks at which earlier requests ended, if they asked the same
   * model with the same instructions and tools, and their answers still follow there. Longest first; at most four.
   */
  readonly sentBefore: readonly number[];
};

/** An earlier answer: the provider's id of it, and the id of the request that it answered. */
export type NamedAnswer = { readonly id: string; readonly inferenceId: string };

/** A block as a request carries it: with its item's id, or without. */
export type SentBlock = {
  readonly block: Block;
  readonly withId: boolean;
  /** It is sent without its signature, or with a stand-in for one (`standInRule`). */
  readonly standIn?: boolean;
  /** The tool's name, on a result whose call is in the context that the request continues from (`namesCalls`). */
  readonly called?: string;
};

/** A user message that is in no Turn: the decision adds it to a request that needs it (`prompt`). */
export type Prompt = {
  /**
   * Whether a request cannot end with these blocks, which follow what the server holds, or nothing. Not called if the request ends
   * with an answer that its server paused, because nothing may follow that.
   */
  isNeeded(sent: readonly Block[], asked: { readonly settings: Settings; readonly isContinued: boolean }): boolean;
  /** The message, as a draft; frozen under the name of the codec. */
  readonly block: Block;
};

/** A call as pairing sees it. */
export type Call = {
  /** The key by which its result refers to it. */
  readonly key: string;
  readonly type: string;
  /** Whether it may stay open at the end of a request. */
  readonly mayStayOpen: boolean;
};

export type CallPairs = {
  /** The block as a call that needs a result; null for every other block. */
  callOf(block: Block): Call | null;
  /** Whether the block is a result. */
  isResult(block: Block): boolean;
  /** The key by which a result refers to its call; null if it has none. */
  keyOf(result: Block): string | null;
  /** Whether this result can answer that call. A result without a key can answer any call: the caller looks for the only one. */
  answers(result: Block, call: Call): boolean;
};

/** The place of a block among the blocks of its answer. */
export type GroupPlace = {
  readonly withId: boolean;
  /** Some of these blocks are missing or left out. */
  readonly isBroken: boolean;
  /** The server paused the answer, and something other than its continuation follows it. */
  readonly isLeftPaused: boolean;
  readonly next: Block | undefined;
};

/** The place of a block that may have a signature. */
export type SignedPlace = {
  /** It came from another endpoint. */
  readonly isForeign: boolean;
  /** The model's blocks that are sent before it, since the last message of anyone else. */
  readonly stretch: readonly Block[];
  readonly settings: Settings;
};

/** How a server rejected a request. */
export type Refusal = { readonly kind: string; readonly param: string | null; readonly message: string };
