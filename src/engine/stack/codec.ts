import type { JsonObject, JsonValue } from "../../base/json.ts";
import type { Anchor } from "../../domain/anchor.ts";
import type { Block, Wire } from "../../domain/block.ts";
import type { ContentFilter, Withheld } from "../../domain/events/inference-events.ts";
import type { Adjustments } from "../../domain/events/run-events.ts";
import type { ReportedUsage } from "../../domain/events/shared.ts";
import { toolResult } from "../../domain/make-block.ts";

/**
 * The vocabulary of a provider: how blocks become requests and answers become blocks. Pure. It owns every word of its wire, so
 * that planning, runs and projections speak turnlog's own (docs/EVENTS.md).
 *
 * Only `encodeRequest` and the block of `prompt` are frozen under `name`, because recorded requests are rebuilt with them for ever. A
 * codec that would write other bytes gets another name, beside the old one; a rule may be mended at any time.
 *
 * `defineCodec` fills in what most wires have in common.
 */
export interface Codec {
  /** `openai-responses/1`: stands in every recorded request. */
  readonly name: string;
  /** `openai-responses`: stands in the endpoint scope, so that a new version orphans no anchor. */
  readonly family: string;

  /**
   * Settings whose instructions say these texts too.
   *
   * @throws {TurnlogError} `instructions-hidden` where the instructions are no text that something could be added to.
   */
  instruct(settings: Settings, texts: readonly string[]): Settings;
  /**
   * Settings that ask these things otherwise; absent, where runs cannot. Not frozen: what it gives is recorded with the request.
   *
   * @throws {TypeError} for what this wire cannot say.
   */
  adjust?(settings: Settings, adjustments: Adjustments): Settings;
  /** Settings that have the server keep nothing, unless they say what it keeps themselves; absent, where that cannot be said. */
  unstored?(settings: Settings): Settings;
  /** Settings that offer these tools, and ask for what an endpoint of these capabilities can give. */
  offer(
    settings: Settings,
    offered: { readonly tools: readonly OfferedTool[]; readonly capabilities: Capabilities },
  ): Settings;
  /** The names of the tools that settings offer to the model. */
  offeredTools(settings: Settings): readonly string[];
  /** What an endpoint of these capabilities can do for a request with these settings; absent: all of it. */
  capable?(capabilities: Capabilities, settings: Settings): Capabilities;
  /** Whether these settings have the model read its reasoning of the current turn only; absent, or `all`: it reads all. */
  readsReasoning?(settings: Settings): "all" | "turn";
  /**
   * What may be done with the anchors that its answers give, by their kind. One of a kind that is not named here is never
   * continued from.
   */
  readonly anchors: Readonly<Record<string, AnchorKind>>;

  /** Which blocks call and which answer: rule: Planning and shaping, 3. */
  readonly pairs: CallPairs;
  /**
   * The server takes the results of an answer's calls together, before anything else: a call that is still open where something
   * other than a result follows one is answered there. Absent, results may stand between the calls of one answer.
   */
  readonly resultsStandTogether?: boolean;
  /**
   * The id that a request says for a call of this id: the same, where the server takes it, and what it gives is taken. Absent, every id
   * is. Different ids stay different; what is given for each is recorded with the request.
   */
  callIdFor?(callId: string): string;
  /** A result says the name of the tool that it answers, so that the request needs it of calls which it does not hold itself. */
  readonly namesCalls?: boolean;
  /** Why a request cannot carry the block, in words for people; null when it can. */
  unsendableReason(block: Block, options: { readonly withId: boolean }): string | null;
  /**
   * Why a request cannot carry this part of a message, or of the list of parts that a tool gave; null when it can. The rest of the
   * block is sent without it, and is what `unsendableReason` is asked of. Absent, a block is sent whole or not at all.
   */
  unsendablePart?(part: JsonObject, block: Block): string | null;
  /**
   * Why a block of an answer cannot be sent as the blocks of that answer stand around it, as the name of a rule. Absent, where
   * blocks stand by themselves.
   */
  brokenGroupRule?(block: Block, group: GroupPlace): string | null;
  /**
   * What a request cannot say of how a block stands behind the one before it, as the name of why it is put otherwise; null where it
   * says all. Absent, where it always does. It changes nothing: `encodeRequest` does, and the decision tells of it.
   */
  restated?(block: Block, before: Block | null): string | null;
  /**
   * Why a block goes out without the signature that an endpoint gave it, or with what stands for one, as the name of a rule; null
   * where it goes as it is. Absent, where nothing is signed.
   */
  standInRule?(block: Block, place: SignedPlace): string | null;
  /** What the user says behind a request that the server would not take as it ends; absent, where it takes every end. */
  readonly prompt?: Prompt;
  /** Whether the server takes the block only as the last one of a request. */
  standsLast?(block: Block): boolean;

  /**
   * What a body holds beyond Turn, settings and anchor: it is recorded with the decision (`details`), where `encodeRequest` finds it
   * for ever. Absent, where it holds nothing more.
   */
  detailsOf?(planned: PlannedParts): JsonObject | undefined;
  /** The exact text of a request's body: a pure function, frozen under `name` (rule: The exact request). */
  encodeRequest(parts: RequestParts): string;
  /** What an endpoint seems not to be able to do, by how it refused a request with these settings; null where that is not said. */
  lessonOf?(refusal: Refusal, settings: Settings): Lesson | null;

  /**
   * What the model's side may do besides answering, beyond what settings say by `background` and by `tools` that are no functions, in
   * words for people; null for nothing. Absent: nothing. Such a request is not sent again where its outcome is unknown.
   */
  ownEffects?(settings: Settings): string | null;
  /**
   * Whether a server that is asked with these settings may pause an answer (`isPaused`), so that an engine without tools needs its
   * tool loop as well: that asks it on. Absent: it never does.
   */
  mayPause?(settings: Settings): boolean;
  /** What an answer says, its blocks in the order in which the model made them. */
  readAnswer(response: JsonObject, asked: AnswerContext): Answer;
  /** The response that an answer was read from: equal as JSON, order of members aside (rule: Nothing is lost). */
  writeAnswer(answer: RecordedAnswer): JsonObject;
  /** The items of a response that cannot be read as a whole; absent, where a response has none that stand by themselves. */
  itemsOf?(response: JsonObject): readonly JsonObject[];
}

/** What may be done with anchors of one kind. With nothing said they are continued as often as one likes, for ever. */
export type AnchorKind = {
  /**
   * It is no branch point: what it stands for is continued once, whether the server gives the next state an id of its own (a
   * message of a thread) or keeps the one id for whatever it holds now (a session). So a request whose fate is unknown uses it up,
   * and a fork never continues what its parent may.
   */
  readonly isLinear?: true;
  /** An object that is made, cut and given up by calls of its own: mode `conversation` keeps it equal to the Turn, at any age. */
  readonly isObject?: true;
  /** How long after an answer to a request with these settings its anchor may be continued. */
  readonly keptMs?: (settings: Settings) => number;
  /** Whether a setting has to be the one that the anchor was made with, as what continues from it cannot say another. */
  readonly mustEqual?: (setting: string) => boolean;
  /** Whether a request that continues from it can say this block, which one that says everything can. */
  readonly takes?: (block: Block) => boolean;
};

/** What a codec says of a kind of anchors; undefined for one that it does not know. */
export const anchorKind = (
  { anchors }: Pick<Codec, "anchors">,
  { kind }: Pick<Anchor, "kind">,
): AnchorKind | undefined => (Object.hasOwn(anchors, kind) ? anchors[kind] : undefined);

/** What a request says of a call that nothing answers, on every wire. Frozen, because recorded requests are rebuilt with it for ever. */
export const abortedResult = (callId: string): Block => toolResult({ callId, output: "aborted" });

/** What an answer answers. */
export type AnswerContext = {
  /** Names the request, and is the same again whenever its answer is read: ids of calls can be made of it. */
  readonly inferenceId: string;
  readonly settings: Settings;
  readonly capabilities: Capabilities;
  /** The connection that the answer came on, where what the server does not store may be continued from. */
  readonly lives?: JsonObject | undefined;
};

/** An answer in turnlog's words. What it says of the rest is kept as it came, so that the whole can be written again. */
export type Answer = {
  readonly id: string | null;
  readonly status: string | null;
  /** Whether the answer is whole; of one that is not, text is kept, and calls are neither executed nor sent. */
  readonly isComplete: boolean;
  /**
   * The server has stopped in the middle of it, and goes on when it is asked again with the answer as it stands at the end. Its codec
   * has `mayPause`.
   */
  readonly isPaused?: boolean;
  /** What a later request may name to continue from it, and why that would be refused, where it would. */
  readonly anchor?: Anchor & { readonly unusable?: string };
  /** What it says of the request: under `anchor` the id that it continued from, or null. */
  readonly echo?: JsonObject;
  /** What went wrong, where it says that something did: the run gets it as the provider's error. */
  readonly failure?: { readonly message: string; readonly code: string | null };
  readonly blocks: readonly Draft[];
  /** The server keeps the items of its blocks, so that a later request may name them by their ids. */
  readonly keepsItems?: boolean;
  /** Tokens as the provider counted them, where it did, and its whole report. */
  readonly usage?: Partial<ReportedUsage> & Pick<ReportedUsage, "reported">;
  /** Reasoning of the request that the server says it kept from the model. */
  readonly withheld?: readonly Withheld[];
  /** What the server's content filters found, beside its own words for it in `rest`. */
  readonly contentFilters?: readonly ContentFilter[];
  readonly rest: JsonObject;
};

/** An answer as the log has it: its blocks are those of the conversation. */
export type RecordedAnswer = Omit<Answer, "blocks"> & { readonly blocks: readonly Block[] };

/** A block of an answer as its codec makes it; the engine adds which answer it came in. What `user` and `toolCall` make is one too. */
export type Draft = Pick<Block, "kind" | "payload"> & { readonly wire?: Partial<Wire> | null };

/** A tool as settings offer it. */
export type OfferedTool = { readonly name: string; readonly description: string; readonly parameters: JsonObject };

/** The settings of a request: every member of its body that neither the Turn nor the anchor says. */
export type Settings = JsonObject;

/** What the body of a request is made of. */
export type RequestParts = {
  readonly settings: Settings;
  readonly input: readonly SentBlock[];
  readonly anchor: Anchor | null;
  readonly transport: string;
  /** What else the body holds, as the decision has it. */
  readonly details?: JsonObject | undefined;
};

/** What of a request is known when it is decided what else its body holds. */
export type PlannedParts = Pick<RequestParts, "settings" | "anchor"> & {
  /** How many blocks it sends. */
  readonly blocks: number;
  /** What the model has said, as this endpoint gave it, since somebody else has spoken; results of its calls are no words. */
  readonly said: readonly Block[];
  /**
   * What of it the endpoint has read before: how many of its blocks earlier requests ended with, that asked the same model with the same
   * instructions and tools and whose answer stands behind them still. The longest first; at most four.
   */
  readonly sentBefore: readonly number[];
};

/** A block as a request carries it: with the id of its item, or without. */
export type SentBlock = {
  readonly block: Block;
  readonly withId: boolean;
  /** It goes without its signature, or with what stands for one (`standInRule`). */
  readonly standIn?: boolean;
  /** Of a result whose call is in the context that the request continues from: the tool's name (`namesCalls`). */
  readonly called?: string;
};

/** Words of the user that are in no Turn: a request that needs them is decided to have them (`prompt`). */
export type Prompt = {
  /**
   * Whether a request that sends these blocks, behind what the server holds or nothing, cannot end with them. Of one that ends with
   * an answer that its server has paused it is not asked: nothing is said behind that.
   */
  isNeeded(sent: readonly Block[], asked: { readonly settings: Settings; readonly isContinued: boolean }): boolean;
  /** What is said, as a draft; frozen under the name of the codec. */
  readonly block: Block;
};

/** A call as far as pairing looks at it. */
export type Call = {
  /** What its result names it by. */
  readonly key: string;
  readonly type: string;
  /** It may stay open at the end of a request. */
  readonly mayStayOpen: boolean;
};

export type CallPairs = {
  /** A block as a call that wants a result; null for everything else. */
  callOf(block: Block): Call | null;
  /** Whether a block answers calls. */
  isResult(block: Block): boolean;
  /** What a result names its call by; null where it leaves it out. */
  keyOf(result: Block): string | null;
  /** Whether this result can answer that call. One without a key answers any call: the caller looks for the only one. */
  answers(result: Block, call: Call): boolean;
};

/** How the blocks of one answer stand around one of them. */
export type GroupPlace = {
  readonly withId: boolean;
  /** Some of them are missing or left out. */
  readonly isBroken: boolean;
  /** The server has paused the answer, and something else than what goes on with it stands behind it. */
  readonly isLeftPaused: boolean;
  readonly next: Block | undefined;
};

/** Where a block stands that may be signed. */
export type SignedPlace = {
  /** Another endpoint gave it. */
  readonly isForeign: boolean;
  /** What is sent of the model's before it, since somebody else has spoken. */
  readonly stretch: readonly Block[];
  readonly settings: Settings;
};

/** What a server says of a request that it refuses. */
export type Refusal = { readonly kind: string; readonly param: string | null; readonly message: string };

/** Something that an endpoint seems not to be able to do. */
export type Lesson = {
  readonly capability: string;
  readonly reason: string;
  /** The model that was asked, of what belongs to models. */
  readonly model?: string;
};

/**
 * What an endpoint can do, as configured; what it is seen to do is learnt and recorded (`CapabilityLearned`). Names with JSON
 * values: these the engine reads, a codec may know others. What is absent it cannot do.
 */
export type Capabilities = {
  /** Continues from an earlier answer. */
  readonly chain?: boolean;
  /** `none`: its answers do not say what they continue from, and nothing tells a server that ignores it. */
  readonly echo?: "anchor" | "none";
  /** `context`: the input tokens that it reports are those of all that it read, so that too few tell of a context left out. */
  readonly counts?: "context" | "none";
  /** Has conversation objects, which requests add to. */
  readonly conversations?: boolean;
  /** Accepts a chained request without input. */
  readonly emptyInput?: boolean;
  /** Accepts the ids of stored items in a full request. */
  readonly itemIds?: boolean;
  /**
   * What it does with reasoning whose prefix (instructions, tools, earlier blocks) is not the one that it was made from: keeps it from the
   * model, or refuses the request. Absent, or `ignore`: it does not look.
   */
  readonly reasoningPrefix?: "withhold" | "refuse" | "ignore";
  readonly [name: string]: JsonValue | undefined;
};
