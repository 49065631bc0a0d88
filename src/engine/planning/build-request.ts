import { messageOf } from "../../base/error-message.ts";
import { kindOf } from "../../base/options.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { utf8Length } from "../../base/utf8.ts";
import { Block } from "../../domain/block.ts";
import type { BlockNames } from "../../domain/block-names.ts";
import { emptyContext, extendContext } from "../../domain/context.ts";
import type { Decision, InferenceRequestedData, Repair } from "../../domain/events/inference-events.ts";
import type { Turn } from "../../domain/turn.ts";
import type { ConversationView } from "../../projections/views/conversation-view.ts";
import { defaultChainPolicy } from "../options/chain-policy.ts";
import { abortedResult, type Codec, type RequestParts, type SentBlock, type Settings } from "../ports/codec.ts";
import type { Provider } from "../ports/provider.ts";
import { ProviderError } from "../ports/provider-error.ts";
import { boundTo } from "./bound-reasoning.ts";
import { contextsOf, provenanceOf } from "./contexts.ts";
import { carriesId, withoutItemId } from "./groups.ts";
import { splitTurn } from "./instruction-blocks.ts";
import { toldLate } from "./late-result.ts";
import { withoutParts } from "./parts.ts";
import { plan } from "./plan.ts";
import type { ContextLookup, PlanRequest } from "./plan-request.ts";
import { callIdOf, repairIndexOf } from "./repairs.ts";
import { settingsName } from "./request-settings.ts";

/** What a request needs besides the Turn: where it goes and with which settings; by default, as the view knows it. */
type Asking = Pick<PlanRequest, "capabilities" | "now"> &
  Partial<Pick<PlanRequest, "contexts" | "provenance" | "policy" | "full" | "candidates" | "connection">> & {
    readonly endpoint: Pick<Provider, "scope" | "codec" | "transport" | "systemAs">;
    /** Of the conversation. */
    readonly names: BlockNames;
    /** The settings, with what the Turn contributes to the instructions. */
    readonly settings: (instructions: readonly string[]) => Settings;
  };

/** The request to plan for an outgoing Turn; `recordedRequest` returns the plan of a recorded one. */
export function newRequest(
  view: ConversationView,
  outgoing: Turn,
  { endpoint, names, ...asking }: Asking,
): PlanRequest {
  const { scope, codec, transport } = endpoint;
  const { input, instructions } = splitTurn(view, outgoing, endpoint);
  const settings = asking.settings(instructions);
  const capabilities = codec.capable?.(asking.capabilities, settings) ?? asking.capabilities;
  return {
    contexts: contextsOf(view),
    provenance: provenanceOf(undefined, view),
    policy: defaultChainPolicy,
    ...asking,
    ...{ capabilities, turn: input, scope, codec, transport, settings, settingsDigest: settingsName(settings, names) },
  };
}

/** A request as it is sent. Digests are computed lazily. */
export type BuiltRequest = {
  readonly decision: Decision;
  readonly shaped: readonly SentBlock[];
  /** The exact body. */
  readonly bodyText: string;
  /** The same body with other settings. */
  readonly bodyWith: (settings: Settings) => string;
  /** The body's length in UTF-8. */
  readonly bytes: number;
  /** sha256 of the body's UTF-8 bytes. */
  readonly digest: string;
  /** The `input` of the request's event, except for the whole Turn's digest. */
  readonly input: InferenceRequestedData["input"];
};

/**
 * Builds the body of a decided request: the only way to a body, whether it is sent, compared or rebuilt. No rule is applied, so a
 * recorded decision always gives the same body, even after the planner changes.
 */
export function buildRequest(request: PlanRequest, decision: Decision = plan(request)): BuiltRequest {
  const { codec, contexts } = request;
  const { anchor } = decision;
  const parts = partsOf(request, decision);
  const shaped = parts.input;
  const bodyWith = (settings: Settings): string => encoded(codec, { ...parts, settings });
  const bodyText = bodyWith(parts.settings);
  return {
    ...{ decision, shaped, bodyText, bodyWith },
    get bytes() {
      return utf8Length(bodyText);
    },
    get digest() {
      return sha256Hex(bodyText);
    },
    get input() {
      const before = heldBefore(contexts, anchor);
      const held = heldContext(before?.held ?? emptyContext, shaped);
      const bound = boundTo(request, decision);
      return {
        turn: request.turn.digest,
        held,
        blocks: request.turn.length,
        ...(bound === undefined ? {} : { bound }),
      };
    },
  };
}

/** What the codec encodes for a decided request. */
export function partsOf({ turn, scope, codec, settings }: PlanRequest, decision: Decision): RequestParts {
  const { anchor, sendFrom, repairs, capabilities, transport, details } = decision;
  const input = shapedBlocks(turn, sendFrom, repairs, { codec, scope, itemIds: capabilities["itemIds"] === true });
  return { settings, input, anchor, transport, details };
}

/** Encodes a request. An error in a codec surfaces here, before anything is sent. */
function encoded(codec: Codec, parts: RequestParts): string {
  let given: unknown;
  try {
    given = codec.encodeRequest(parts);
  } catch (cause) {
    if (cause instanceof TurnlogError) throw cause;
    const advice = "report what the codec cannot send in unsendableReason or unsendablePart";
    throw cannotEncode(codec, `${messageOf(cause)}; ${advice}`, cause);
  }
  if (typeof given === "string") return given;
  throw cannotEncode(codec, `encodeRequest returned ${kindOf(given)}: return the text of the body`);
}

function cannotEncode({ name }: Codec, why: string, cause?: unknown): ProviderError {
  const message = `the codec ${name} cannot encode the request: ${why}`;
  return new ProviderError(message, { kind: "provider-failed", outcome: "rejected", cause });
}

/** The context that a request continues from; null if it is empty. */
export const heldBefore = ({ ofInference }: Pick<ContextLookup, "ofInference">, anchor: Decision["anchor"]) =>
  anchor === null || anchor.inferenceId === null ? null : ofInference(anchor.inferenceId);

/** The blocks that a request sends: those of the Turn from `from` on, after the repairs. */
export function shapedBlocks(
  turn: Turn,
  from: number,
  repairs: readonly Repair[],
  carriage: { readonly codec: Codec; readonly scope: string; readonly itemIds: boolean },
): readonly SentBlock[] {
  const byIndex = Map.groupBy(repairs, repairIndexOf);
  const shaped: SentBlock[] = [];
  const named = (block: Block): Block => Block.namedLike(block, turn.at(0));
  const calledBy = (callId: string | null) =>
    carriage.codec.namesCalls === true && callId !== null ? calledBefore(turn, from, callId) : {};
  const asItIs = (block: Block): SentBlock => {
    const sent = { block, withId: carriesId(block, carriage) };
    return block.kind === "tool_result" ? { ...sent, ...calledBy(block.callId) } : sent;
  };
  const blocks = turn.after(from);
  for (let offset = 0; offset <= blocks.length; offset += 1) {
    const block = blocks[offset] ?? null;
    const here = byIndex.get(from + offset);
    if (here === undefined) {
      // Almost every block is sent as it is, and a request may have thousands.
      if (block !== null) shaped.push(asItIs(block));
      continue;
    }
    for (const repair of here) {
      if (repair.rule === "answer")
        shaped.push({
          ...{ block: named(abortedResult(callIdOf(repair))), withId: false },
          ...calledBy(callIdOf(repair)),
        });
      if (repair.rule === "prompt") shaped.push({ block: named(new Block(promptOf(carriage.codec))), withId: false });
    }
    if (block === null || here.some(({ rule }) => rule === "omit")) continue;
    const said = toldLate(block, here, turn);
    const rename = here.find(({ rule }) => rule === "rename-call");
    const isSigned = !here.some(({ rule }) => rule === "stand-in");
    const cut = here.find(({ rule }) => rule === "omit-parts");
    const withId = carriesId(said, carriage) && !here.some(({ rule }) => withoutId.has(rule));
    const left = cut === undefined ? said : (withoutParts(said, cut) ?? said);
    const sent = rename === undefined ? left : renamed(left, callIdOf(rename));
    const called = said.kind === "tool_result" ? calledBy(said.callId) : {};
    shaped.push({ block: sent, withId, ...(isSigned ? {} : { standIn: true }), ...called });
  }
  return shaped;
}

/** Repairs after which a block is no longer the item that the provider issued. */
const withoutId: ReadonlySet<string> = new Set(["omit-id", "omit-parts", "rename-call"]);

/** The tool of the newest call with this id among the blocks before `from`; results come soon after their calls. */
function calledBefore(turn: Turn, from: number, callId: string): Pick<SentBlock, "called"> {
  for (let index = from - 1; index >= 0; index -= 1) {
    const block = turn.at(index);
    if (block?.kind === "tool_call" && block.callId === callId)
      return block.name === null ? {} : { called: block.name };
  }
  return {};
}

function promptOf({ name, prompt }: Codec): Block {
  if (prompt === undefined) throw new Error(`the codec ${name} does not say what to send as the user's message`);
  return prompt.block;
}

/** The digest of what a server holds once it has added these blocks to a context. */
const heldContext = (context: string, shaped: readonly SentBlock[]): string =>
  shaped.reduce(
    (held, { block, withId }) => extendContext(held, (withId ? block : withoutItemId(block)).recordedAs),
    context,
  );

/** The block under another call id. It is no longer the item that the provider issued, but otherwise unchanged. */
function renamed(block: Block, callId: string): Block {
  const { id, kind, payload, wire } = block;
  return withoutItemId(Block.namedLike(new Block({ id, kind, payload: { ...payload, callId }, wire }), block));
}
