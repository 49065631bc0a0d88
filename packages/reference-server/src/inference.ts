import { compaction, type ScriptedAnswer } from "./answers.ts";
import { checkAzureInput, contentFilters } from "./azure.ts";
import { checkBreakpoints } from "./breakpoints.ts";
import type { CacheUse } from "./cache/prompt-cache.ts";
import { isCompactedNow, uncompacted } from "./compacting.ts";
import { admit, extend, itemsOf, type Link, tokensOf } from "./contexts.ts";
import { continuedFrom } from "./continued-from.ts";
import { addItems } from "./conversations.ts";
import type { Fault } from "./faults.ts";
import { keepingOf } from "./keeping.ts";
import { headOfPrompt, inputTokens } from "./link-places.ts";
import type { ConversationObject, HeldResponse, Memory } from "./memory.ts";
import type { DialectOptions, Reading, ReferenceServerOptions } from "./options.ts";
import { checkComparison, diagnosisOf } from "./prompt-diagnosis.ts";
import { bindReasoning, checkReasoning, isWithheld, transformationsOf, type Withheld } from "./reasoning-check.ts";
import { contextTooLong, type Refusal, unsupportedParameter, unsupportedValue } from "./refusals.ts";
import { checkRequest, inputOf, instructionsOf } from "./request-schema.ts";
import { usageOf } from "./response-body.ts";
import type { Script } from "./script.ts";
import { isObject, type JsonObject, objectsOf, stringOf } from "./wire.ts";

/** An accepted request: its number, and what the model reads. */
export interface Accepted {
  readonly body: JsonObject;
  readonly before: Link;
  readonly input: readonly JsonObject[];
  readonly previousResponseId: string | null;
  readonly conversationId: string | null;
  /** Reasoning of the context that the model does not get. */
  readonly withheld: readonly Withheld[];
  /** Created on demand: most requests are never inspected. */
  readonly reading: () => Reading;
}

/** What a connection remembers, and whether its request gets an answer: one without an answer may contain only settings. */
interface OnSocket {
  readonly cached: ReadonlySet<string>;
  readonly generates: boolean;
}

/** Decides on requests and creates responses, independent of HTTP and sockets. */
export interface Inference {
  accept(body: JsonObject, fault: Fault | undefined, socket?: OnSocket): Accepted | { readonly refusal: Refusal };
  /** A response without output to continue from: its request gets no answer. */
  warmUp(accepted: Accepted, arrival: number): HeldResponse;
  /** A response to be made in the background: from here on it can be fetched, and says that it is not ready. */
  queue(accepted: Accepted): HeldResponse;
  /** The response to an accepted request, held but not yet committed; a queued response keeps its id. */
  respond(
    accepted: Accepted,
    arrival: number,
    options: { readonly fault: Fault | undefined; readonly queued?: HeldResponse },
  ): Promise<HeldResponse>;
  /** Makes the response usable, unless it was cancelled or deleted meanwhile. */
  commit(held: HeldResponse): void;
  /** Ids of conversation objects with a response in progress. */
  readonly locked: ReadonlySet<string>;
  /** Called after `respond`, whatever the result. */
  release(accepted: Accepted): void;
  clear(): void;
}

export function createInference(memory: Memory, options: ReferenceServerOptions, script: Script): Inference {
  const locked = new Set<string>();
  return {
    locked,
    accept(body, fault, socket) {
      const rules = {
        models: options.models,
        acceptsEmptyInput: options.acceptsEmptyInput === true || socket?.generates === false,
        takesInstructionItems: options.azure !== undefined,
      };
      const wrong = checkRequest(body, rules);
      if (wrong !== undefined) return { refusal: wrong };
      const refused = options.azure === undefined ? undefined : checkAzureInput(options.azure, body);
      if (refused !== undefined) return { refusal: refused };
      const from = continuedFrom(body, { memory, options, fault, locked, cached: socket?.cached });
      if ("refusal" in from) return from;
      const incapable = checkComparison(body) ?? checkCapabilities(body, options);
      if (incapable !== undefined) return { refusal: incapable };
      const input = inputOf(body);
      const mismarked = checkBreakpoints(input, options.unsupported);
      if (mismarked !== undefined) return { refusal: mismarked };
      const ciphertexts = options.verifiesCiphertexts === false ? undefined : memory.ciphertexts;
      const asyncTools = asyncToolsOf(body);
      const admitted = admit(from.parent, input, { issued: memory.issued, ciphertexts, asyncTools });
      if ("refusal" in admitted) return admitted;
      const isTooLong = admitted.link.tokens > (options.maxContextTokens ?? Number.POSITIVE_INFINITY);
      if (isTooLong) return { refusal: contextTooLong() };
      const checked = checkReasoning(admitted.link, body, { ...memory, ...options });
      if ("refusal" in checked) return checked;
      const { withheld } = checked;
      if (from.conversationId !== null) locked.add(from.conversationId);
      const reading = readingOf({ memory, parent: from.parent, link: admitted.link, body, fault, options, withheld });
      return { body, before: admitted.link, input: admitted.link.items, withheld, reading, ...from };
    },
    queue(request) {
      const held = unanswered(request, { memory, options });
      const queued = { ...held, head: { ...held.head, status: "queued" } };
      memory.responses.set(held.head.id, queued);
      return queued;
    },
    warmUp(request, index) {
      const use = readPrompt(memory, request, { index, fault: undefined });
      use.begin();
      const held = { ...unanswered(request, { memory, options, use }), cache: use.verdict };
      memory.responses.set(held.head.id, { ...held, isStored: false });
      return held;
    },
    respond(request, arrival, { fault, queued }) {
      return respond({ memory, options, script, request, fault, arrival, queued });
    },
    commit(held) {
      const before = memory.responses.get(held.head.id);
      if (before?.head.status === "cancelled" || (before?.head.status === "queued" && !before.isStored)) return;
      memory.responses.set(held.head.id, held);
      for (const item of held.output) {
        const issued = memory.issued.get(stringOf(item["id"]) ?? "");
        if (issued !== undefined) issued.isStored = held.isStored;
      }
      // Items are added to a conversation together, after the response completes.
      const conversationId = held.head.conversationId;
      if (conversationId !== null && held.head.status !== "failed")
        enterConversation(memory.conversations.get(conversationId), held);
    },
    release({ conversationId }) {
      if (conversationId !== null) locked.delete(conversationId);
    },
    clear() {
      locked.clear();
    },
  };
}

/** A response without content, to a request that gets no answer, or none yet. */
function unanswered(
  request: Accepted,
  given: { readonly memory: Memory; readonly options: ReferenceServerOptions; readonly use?: CacheUse },
): HeldResponse {
  const { memory, options, use } = given;
  const { body, before, input } = request;
  const at = (options.now ?? Date.now)();
  const times = { createdAt: seconds(at), completedAt: seconds(at) };
  const nothing = { answered: { output: [] }, output: [], fault: undefined, isAzure: false };
  const head = headOf({ memory, request, use, ...nothing, ...times });
  return { head, input, output: [], before, context: before, ...keepingOf(body, at) };
}

async function respond(to: {
  readonly memory: Memory;
  readonly options: ReferenceServerOptions;
  readonly script: Script;
  readonly request: Accepted;
  readonly fault: Fault | undefined;
  readonly arrival: number;
  readonly queued: HeldResponse | undefined;
}): Promise<HeldResponse> {
  const { memory, options, script, request, fault, arrival, queued } = to;
  const { body, before, input, reading } = request;
  const now = options.now ?? Date.now;
  const at = now();
  const createdAt = seconds(at);
  const use = readPrompt(memory, request, { index: arrival, fault });
  const answered = await script.answer({ body, reading, arrival, fault });
  use.begin();
  const isCompacted = options.compacts === true && isCompactedNow(body, before.tokens);
  const finished = memory.finish([...(isCompacted ? [compaction()] : []), ...answered.output]);
  const output = finished.map(({ item }) => item);
  if (isCompacted)
    memory.compacted.set(stringOf(output[0]?.["id"]) ?? "", uncompacted(itemsOf(before), memory.compacted));
  const context = extend(before, output, asyncToolsOf(body));
  memory.issue(finished, false);
  if (options.checksReasoning !== undefined) bindReasoning(memory.bindings, { before, output, body });
  const times = { createdAt, completedAt: seconds(now()) };
  const isAzure = options.azure !== undefined;
  const head = headOf({ memory, request, use, answered, output, fault, id: queued?.head.id, isAzure, ...times });
  use.cacheAnswer(memory.linkPlaces.of(context, headOfPrompt(memory.prompts, body)));
  const keeping = keepingOf(body, at);
  const isStored = keeping.isStored && options.neverStores !== true && fault?.kind !== "unstored";
  const held = { head, input, output, before, context, ...keeping, isStored, cache: use.verdict };
  if (queued === undefined) memory.responses.set(head.id, { ...held, isStored: false });
  return held;
}

/** Nothing is added to a deleted object. */
function enterConversation(object: ConversationObject | undefined, { input, output, head }: HeldResponse): void {
  if (object !== undefined) addItems(object, [...input, ...output], asyncToolsOf(head.body));
}

function checkCapabilities(body: JsonObject, options: DialectOptions): Refusal | undefined {
  const name = options.unsupported?.find((field) => (body[field] ?? null) !== null);
  if (name !== undefined) return unsupportedParameter(name);
  for (const { path, value, supported } of options.unsupportedValues ?? []) {
    const [field = "", member] = path.split(".");
    const given = body[field];
    const actual = member === undefined ? given : isObject(given) ? given[member] : undefined;
    const model = stringOf(body["model"]) ?? "";
    if (actual === value) return unsupportedValue(path, value, { model, supported });
  }
  return undefined;
}

function readingOf(of: {
  readonly memory: Memory;
  readonly parent: Link | undefined;
  readonly link: Link;
  readonly body: JsonObject;
  readonly fault: Fault | undefined;
  readonly options: DialectOptions;
  readonly withheld: readonly Withheld[];
}): () => Reading {
  return () => {
    const earlier = itemsOf(of.parent);
    const kept = of.options.dropsSystem === true ? earlier.filter((item) => item["role"] !== "system") : earlier;
    const all = uncompacted([...kept, ...of.link.items], of.memory.compacted);
    const isRead = (item: JsonObject): boolean => !isWithheld(item, of.withheld);
    const items =
      of.fault?.kind === "withhold" ? all.filter((item) => item["type"] !== "reasoning") : all.filter(isRead);
    return { items, instructions: instructionsOf(of.body), tools: objectsOf(of.body["tools"]) };
  };
}

function asyncToolsOf(body: JsonObject): ReadonlySet<string> {
  const tools = objectsOf(body["tools"]).filter((tool) => tool["async"] === true);
  return new Set(tools.flatMap((tool) => stringOf(tool["name"]) ?? []));
}

function headOf(of: {
  readonly memory: Memory;
  readonly request: Accepted;
  readonly use: CacheUse | undefined;
  readonly answered: ScriptedAnswer;
  readonly output: readonly JsonObject[];
  readonly fault: Fault | undefined;
  readonly createdAt: number;
  readonly completedAt: number;
  readonly id?: string | undefined;
  readonly isAzure: boolean;
}): HeldResponse["head"] {
  const { request, use, answered, fault, output } = of;
  const { body } = request;
  const reasoning = output.filter((item) => item["type"] === "reasoning");
  const tokens = { input: inputTokens(request), use, output: tokensOf(output), reasoning: tokensOf(reasoning) };
  return {
    id: of.id ?? of.memory.nextId("resp"),
    body,
    model: stringOf(body["model"]) ?? "",
    createdAt: of.createdAt,
    completedAt: of.completedAt,
    status: answered.status ?? "completed",
    previousResponseId: fault?.kind === "echo" ? fault.previousResponseId : request.previousResponseId,
    conversationId: request.conversationId,
    isStored: body["store"] !== false,
    error: answered.error ?? null,
    incompleteDetails: answered.incompleteDetails ?? null,
    usage: usageOf(tokens, answered.usage),
    ...(of.isAzure ? { contentFilters: contentFilters() } : {}),
    diagnosis: use === undefined ? undefined : diagnosisOf(of.memory, request, use.read),
    transformations: transformationsOf(request, fault?.kind === "withhold" ? fault.reason : undefined),
  };
}

function readPrompt(
  { linkPlaces, prompts }: Memory,
  { body, before }: Accepted,
  asked: { readonly index: number; readonly fault: Fault | undefined },
): CacheUse {
  return prompts.use({ body, places: linkPlaces.of(before, headOfPrompt(prompts, body)), ...asked });
}

function seconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
