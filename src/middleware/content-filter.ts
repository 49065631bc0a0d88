import { isJsonObject, type JsonValue } from "../base/json.ts";
import { anything, checkFlag, checkFunction, choiceOf, kindOf, optionsOf, required, textOf } from "../base/options.ts";
import { TurnlogError } from "../base/turnlog-error.ts";
import { unwatched } from "../base/unwatched.ts";
import type { Block, BlockKind } from "../domain/block.ts";
import { assistant, toolCall } from "../domain/make-block.ts";
import type { Turn } from "../domain/turn.ts";
import type { DeltaFilter, DeltaRule } from "../engine/ports/deltas.ts";
import { EffectFailedError } from "../engine/ports/effect-errors.ts";
import { broughtBy, defineMiddleware, type Layer, type LayerContext } from "../engine/ports/middleware.ts";
import type { ItemKind } from "../engine/ports/provider.ts";
import { occurrencesOf } from "./detectors.ts";
import { editBlock } from "./text-edits.ts";

/** What to do about content that a check rejects: end the run, record it and go on, or take it out. */
export type ContentAction = "block" | "warn" | "redact";

/** What a check has against a text. */
export type ContentFinding = {
  readonly reason: string;
  /** The stretches to take out, for `redact`. Without them the whole text is replaced. */
  readonly values?: readonly string[];
  /** Default: the action of the layer. */
  readonly action?: ContentAction;
};

export type CheckedContent = {
  /** To the model, or from it. */
  readonly direction: "before" | "after";
  readonly kind: BlockKind;
  readonly signal: AbortSignal;
};

/** What a check says of a text: null, a reason against it, or a finding. */
export type ContentVerdict = null | string | ContentFinding;

export type ContentFilterOptions = {
  /** Distinguishes two such layers of one stack, also in the log. */
  readonly name?: string;
  /** Raise the major version when the check changes. */
  readonly version?: string;
  /** Returns null if the text may pass, or else a reason, or a finding. */
  readonly check: (text: string, content: CheckedContent) => ContentVerdict | Promise<ContentVerdict>;
  /** Default: `block`. */
  readonly action?: ContentAction;
  /** What to check: what goes to the model, what comes from it, or both (the default). */
  readonly direction?: "before" | "after" | "both";
  /** Whether the check reaches outside, such as a moderation service. It is then recorded as an effect, and not repeated. */
  readonly outside?: boolean;
  /** What happens if a check outside fails. Default: `fail`, which ends the run; `pass` goes on, and the log has the failed effect. */
  readonly ifUnavailable?: "fail" | "pass";
  /** The text in place of what `redact` takes out. */
  readonly replacement?: string;
};

const filterOptions = optionsOf<ContentFilterOptions>({
  ...{ name: textOf("the layer's name in the log"), version: textOf('a version such as "1.0.0"') },
  check: required<ContentFilterOptions["check"]>(checkFunction),
  action: choiceOf("block", "warn", "redact"),
  direction: choiceOf("before", "after", "both"),
  outside: checkFlag,
  ifUnavailable: choiceOf("fail", "pass"),
  replacement: anything,
});

type Finding = ContentFinding & { readonly action: ContentAction };
/** A finding about each of some blocks; null for those that may pass. */
type Findings = readonly (Finding | null)[];

/**
 * Checks what goes to the model, and what comes from it. Before a request it checks the messages and results since the model's last answer; after
 * it, the messages and calls of the answer.
 *
 * @throws {TypeError} if an option is unknown or invalid.
 */
export function contentFilter(options: ContentFilterOptions): Layer {
  filterOptions.check("contentFilter", options);
  const { name = "content-filter", version = "1.0.0", action = "block", direction = "both" } = options;
  const { replacement = "[removed]", outside = false, ifUnavailable = "fail" } = options;
  const config = { action, direction, replacement, outside, ifUnavailable };
  const filtered = async (turn: Turn, blocks: readonly Block[], at: Checking): Promise<Turn> => {
    if (blocks.length === 0) return turn;
    const findings = await findingsOf(blocks, { ...at, options, action });
    let result = turn;
    for (const [index, block] of blocks.entries()) {
      const finding = findings[index] ?? null;
      if (finding === null) continue;
      if (finding.action === "warn") await warn(block, finding, { ...at, isRecorded: outside });
      else result = result.replace(block, withoutContent(block, finding, replacement));
    }
    return result;
  };
  const isHeld = direction !== "before" && action !== "warn";
  const deltas: DeltaRule = ({ kind }) =>
    kind === "reasoning" ? null : heldDeltas(kind, { ...options, action, replacement });
  return defineMiddleware({ name, version, config, ...(isHeld ? { deltas } : {}) }, (next) => async (turn, ctx) => {
    const passed =
      direction === "after" ? turn : await filtered(turn, sinceLastAnswer(turn), { direction: "before", ctx });
    const result = await next(passed);
    if (direction === "before") return result;
    return filtered(result, broughtBy(passed, result).filter(isSaidByModel), { direction: "after", ctx });
  });
}

type Held = Required<Pick<ContentFilterOptions, "action" | "replacement">> & ContentFilterOptions;

/** Holds back a text that arrives until the check has passed it. A check outside has no answer by then: the Turn brings the text. */
function heldDeltas(kind: ItemKind, { check, outside = false, action, replacement }: Held): DeltaFilter {
  const held: string[] = [];
  return {
    take(text) {
      held.push(text);
      return "";
    },
    end() {
      const text = held.join("");
      if (outside || text === "") return "";
      const block = kind === "text" ? assistant(text) : toolCall({ callId: "held", name: "held", arguments: text });
      const { signal } = new AbortController();
      const finding = findingOf(check(text, { direction: "after", kind: block.kind, signal }), action);
      if (finding === null || finding.action === "warn") return text;
      return isBlocked(block, finding) ? "" : withoutContent(block, finding, replacement).text;
    },
  };
}

type Checking = { readonly direction: "before" | "after"; readonly ctx: LayerContext };

/** What no model has answered yet. An answer that a layer wrote does not count: what was rejected before it would pass. */
function sinceLastAnswer(turn: Turn): readonly Block[] {
  const { blocks } = turn;
  const last = blocks.findLastIndex(
    (block) => block.wire !== null && (isSaidByModel(block) || block.kind === "reasoning"),
  );
  return blocks.slice(last + 1).filter(({ kind }) => kind === "user" || kind === "tool_result" || kind === "system");
}

const isSaidByModel = ({ kind }: Block): boolean => kind === "assistant" || kind === "tool_call";

type Asked = Checking & { readonly options: ContentFilterOptions; readonly action: ContentAction };

async function findingsOf(blocks: readonly Block[], { direction, ctx, options, action }: Asked): Promise<Findings> {
  const { check, outside = false, ifUnavailable = "fail" } = options;
  const ask = (block: Block, signal: AbortSignal) => check(block.text, { direction, kind: block.kind, signal });
  if (!outside) return blocks.map((block) => findingOf(ask(block, ctx.signal), action));
  const askAll = async ({ signal }: { readonly signal: AbortSignal }): Promise<JsonValue[]> => {
    const verdicts: JsonValue[] = [];
    for (const block of blocks) verdicts.push(jsonOf(await ask(block, signal)));
    return verdicts;
  };
  try {
    const verdicts = await ctx.effect(`check ${direction}`, askAll, { idempotent: true });
    return verdicts.map((verdict) => findingOf(verdict, action));
  } catch (error) {
    if (ifUnavailable === "pass" && error instanceof EffectFailedError && !ctx.signal.aborted) return [];
    throw error;
  }
}

/** A verdict for the log, which checks that it is JSON; what it says is checked when it is read. */
// A finding is an object of texts.
const jsonOf = (verdict: ContentVerdict): JsonValue => verdict;

/** @throws {TypeError} if a check returned something else. */
function findingOf(given: unknown, byDefault: ContentAction): Finding | null {
  if (given === null) return null;
  if (typeof given === "string" && given !== "") return { reason: given, action: byDefault };
  if (isJsonObject(given) && typeof given["reason"] === "string") {
    const { reason, values, action = byDefault } = given;
    const isKnown = action === "block" || action === "warn" || action === "redact";
    if (isKnown && values === undefined) return { reason, action };
    if (isKnown && Array.isArray(values) && values.every((value) => typeof value === "string" && value !== ""))
      // Every value was found to be a text.
      return { reason, action, values: values as string[] };
  }
  unwatched(given);
  const how =
    given instanceof Promise
      ? "set outside: true for a check that waits for something"
      : "return null, a reason, or { reason, values, action }";
  throw new TypeError(`contentFilter: check returned ${kindOf(given)}: ${how}`);
}

/** Records a finding that changes nothing, unless the effect of the check already did. */
async function warn(
  { id, kind }: Block,
  { reason }: Finding,
  { direction, ctx, isRecorded }: Checking & { readonly isRecorded: boolean },
): Promise<void> {
  if (!isRecorded) await ctx.effect(`warn ${direction}`, () => ({ block: id, kind, reason }), { idempotent: true });
}

/** A call without arguments that the model gave would be another call. */
const isBlocked = ({ kind }: Block, { action, values }: Pick<Finding, "action" | "values">): boolean =>
  action === "block" || (values === undefined && kind === "tool_call");

/** @throws {TurnlogError} `content-blocked` if the block must not pass. */
function withoutContent(block: Block, finding: Finding, replacement: string): Block {
  const { reason, values } = finding;
  if (isBlocked(block, finding))
    throw new TurnlogError("content-blocked", `block ${block.id} (${block.kind}) was rejected: ${reason}`);
  if (values === undefined) return block.withText(replacement);
  return editBlock(block, (plain) => {
    const found = values
      .flatMap((value) => occurrencesOf(value, plain))
      .sort((a, b) => a.start - b.start || b.end - a.end);
    let end = 0;
    return found.flatMap((span) => {
      if (span.start < end) return [];
      end = span.end;
      return [{ ...span, text: replacement }];
    });
  });
}
