import { breakpointOf } from "./breakpoints.ts";
import { type PromptPlace, type PromptUnit, placesOf, unitOf, unitsIn } from "./cache/prompt.ts";
import type { PromptCache } from "./cache/prompt-cache.ts";
import { type Link, tokensOf } from "./contexts.ts";
import { callOf, resultOf } from "./pairs.ts";
import { readItems } from "./readings.ts";
import { type JsonObject, objectsOf, stringOf, typeOf } from "./wire.ts";

/** The places of a link's items in a prompt. */
interface Piece {
  readonly places: readonly PromptPlace[];
  /** It contains a compaction item: the model no longer reads anything before that. */
  readonly isFresh: boolean;
}

/**
 * The places of a context's items, chained or sent in full: two items are equal if they read the same, whatever their ids and
 * ciphertexts. They are computed once for each link and beginning, so that a chain of a thousand steps is not read a thousand times.
 */
export class LinkPlaces {
  readonly #pieces = new WeakMap<Link, Map<string, Piece>>();
  // Usually, the next context continues the newest one.
  #newest: { readonly link: Link; readonly key: string; readonly places: readonly PromptPlace[] } | undefined;

  /** @param head - The places before the items: settings, instructions and tools. */
  of(context: Link, head: readonly PromptPlace[]): readonly PromptPlace[] {
    const key = head.at(-1)?.digest ?? "";
    const newest = this.#newest?.key === key ? this.#newest : undefined;
    const links: Link[] = [];
    let link: Link | undefined = context;
    for (; link !== undefined && link !== newest?.link; link = link.parent) links.push(link);
    const places = [...(link === undefined || newest === undefined ? head : newest.places)];
    for (const next of links.reverse()) {
      const piece = this.#pieceOf(next, { head, before: places });
      if (piece.isFresh) places.length = head.length;
      for (const place of piece.places) places.push(place);
    }
    this.#newest = { link: context, key, places };
    return places;
  }

  #pieceOf(
    link: Link,
    { head, before }: { readonly head: readonly PromptPlace[]; readonly before: readonly PromptPlace[] },
  ): Piece {
    const key = head.at(-1)?.digest ?? "";
    const pieces = this.#pieces.get(link) ?? new Map<string, Piece>();
    const known = pieces.get(key);
    if (known !== undefined) return known;
    const piece = pieceOf(link.items, { head: head.at(-1), end: before.at(-1), count: before.length - head.length });
    this.#pieces.set(link, pieces.set(key, piece));
    return piece;
  }
}

/** The places of a prompt before its items. */
export const headOfPrompt = (prompts: PromptCache, body: JsonObject): readonly PromptPlace[] =>
  prompts.placesOf(body, headUnits(body));

/** The tokens of everything that the model reads for a request. */
export const inputTokens = ({ body, before }: { readonly body: JsonObject; readonly before: Link }): number =>
  headUnits(body).reduce((sum, { tokens }) => sum + tokens, before.tokens);

function headUnits({ instructions = null, tools }: JsonObject): readonly PromptUnit[] {
  const said = instructions === null ? [] : [unitOf("system", "instructions", JSON.stringify({ instructions }))];
  return [...said, ...unitsIn("tool", "tools", objectsOf(tools))];
}

function pieceOf(
  items: readonly JsonObject[],
  {
    head,
    end,
    count,
  }: { readonly head: PromptPlace | undefined; readonly end: PromptPlace | undefined; readonly count: number },
): Piece {
  const from = items.findLastIndex((item) => typeOf(item) === "compaction");
  if (from < 0)
    return {
      places: placesOf(
        items.map((item, n) => itemUnit(item, count + n)),
        end,
      ),
      isFresh: false,
    };
  return { places: placesOf(items.slice(from).map(itemUnit), head), isFresh: true };
}

const itemUnit = (item: JsonObject, n: number): PromptUnit => ({
  ...{ kind: "message", path: `input.${n}`, text: readItems([item]).join("\n"), tokens: tokensOf([item]) },
  ...{ by: speakerOf(item), breakpoint: breakpointOf(item) },
});

function speakerOf(item: JsonObject): PromptUnit["by"] {
  if (callOf(item) !== undefined) return "call";
  if (resultOf(item) !== undefined) return "result";
  const role = typeOf(item) === "message" ? stringOf(item["role"]) : undefined;
  return role === "user" ? "user" : role === "system" || role === "developer" ? "developer" : undefined;
}
