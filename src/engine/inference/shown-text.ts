import { messageOf } from "../../base/error-message.ts";
import { kindOf } from "../../base/options.ts";
import { unwatched } from "../../base/unwatched.ts";
import type { Block } from "../../domain/block.ts";
import type { DeltaFilter, RuleOfCall, ShownItem } from "../ports/deltas.ts";
import type { ItemKind } from "../ports/provider.ts";

type Filtering = { readonly layer: string; readonly filter: DeltaFilter };

/**
 * The text of one item as those who watch the run see it: each layer around the request may change it or hold it back, the innermost first.
 * If a layer fails at that, the rest of the item is not shown, because it may be what the layer hides.
 */
export class ShownText {
  readonly #filters: Filtering[] = [];
  #hasFailed = false;

  /** @param rules - Those of the layers around the request, the outermost first. */
  constructor(item: ShownItem, rules: readonly RuleOfCall[]) {
    for (const { layer, rule, ctx } of rules.toReversed())
      this.#guarded(layer, () => {
        const filter: unknown = rule(item, ctx);
        if (filter === null || filter === undefined) return;
        this.#filters.push({ layer, filter: checkedFilter(filter) });
      });
  }

  take(text: string): string {
    return this.#through(this.#filters, text);
  }

  /** What the layers still held back when the item was complete. */
  end(): string {
    let rest = "";
    for (const { layer, filter } of this.#filters) {
      const before = rest === "" ? "" : this.#through([{ layer, filter }], rest);
      rest = before + this.#guarded(layer, () => (filter.end === undefined ? "" : checkedText(filter.end())));
    }
    return this.#hasFailed ? "" : rest;
  }

  #through(filters: readonly Filtering[], text: string): string {
    let shown = text;
    for (const { layer, filter } of filters) {
      if (shown === "") return "";
      const given = shown;
      shown = this.#guarded(layer, () => checkedText(filter.take(given)));
    }
    return this.#hasFailed ? "" : shown;
  }

  /** The text; an empty one from the first failure on. */
  #guarded(layer: string, work: () => string | undefined): string {
    if (this.#hasFailed) return "";
    try {
      return work() ?? "";
    } catch (error) {
      this.#hasFailed = true;
      warnOf(layer, error);
      return "";
    }
  }
}

/** A complete block of the answer as those who watch the run see it. */
export function shownBlock(block: Block, rules: readonly RuleOfCall[]): Block {
  const kind = itemKinds.get(block.kind);
  if (rules.length === 0 || kind === undefined) return block;
  const { callId, name, text } = block;
  const shown = new ShownText(
    { kind, ...(callId === null ? {} : { callId }), ...(name === null ? {} : { name }) },
    rules,
  );
  return block.withText(shown.take(text) + shown.end());
}

const itemKinds: ReadonlyMap<string, ItemKind> = new Map([
  ["assistant", "text"],
  ["reasoning", "reasoning"],
  ["tool_call", "tool-call"],
]);

function checkedFilter(given: unknown): DeltaFilter {
  if (typeof given === "object" && given !== null && "take" in given && typeof given.take === "function")
    // The type of what its functions return is checked at each call.
    return given as DeltaFilter;
  unwatched(given);
  throw new TypeError(`deltas returned ${kindOf(given)}: give { take: (text) => …, end: () => … }, or null`);
}

function checkedText(given: unknown): string {
  if (typeof given === "string") return given;
  unwatched(given);
  throw new TypeError(`deltas gave ${kindOf(given)}: return the text to show, or ""`);
}

/** Layers that have already been warned of. */
const warned = new Set<string>();

function warnOf(layer: string, error: unknown): void {
  if (warned.has(layer)) return;
  warned.add(layer);
  process.emitWarning(
    `deltas of layer ${layer} failed, so the rest of that item is not shown while it arrives: ${messageOf(error)}`,
    "TurnlogWarning",
  );
}
