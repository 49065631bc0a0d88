import { counted } from "../../../base/counted.ts";
import { isJsonObject, type JsonObject, jsonOf } from "../../../base/json.ts";
import { sha256Hex } from "../../../base/sha256.ts";
import { TurnlogError } from "../../../base/turnlog-error.ts";
import { litellm } from "./litellm.ts";
import { modelsDev } from "./models-dev.ts";
import type { PriceBook } from "./price-book.ts";
import type { PriceEntry } from "./price-entry.ts";
import { vendorOf } from "./vendors.ts";

/** The names of entries for models that the file has under another name, such as deployments of Azure. */
type PriceAs = Readonly<Record<string, string>>;

/** A price file that was read, and how to find a model in it. */
export type PriceFile = {
  readonly file: string;
  readonly sha256: string;
  readonly format: PriceBook["format"];
  /** The entry for a request, by the model that answered, else by the one that was asked for. */
  readonly entryFor: (asked: BilledModel) => PriceEntry | "ambiguous" | null;
};

/** What a price is found by. */
type BilledModel = {
  readonly endpoint: string | null;
  readonly served: string | null;
  readonly declared: string | null;
};

const books: readonly PriceBook[] = [litellm, modelsDev];

/**
 * Reads a price file; its form is recognised by its content.
 *
 * @throws {TurnlogError} `prices-unusable` if it has neither form, or `priceAs` names an entry that it lacks.
 */
export function readPriceFile(
  text: string,
  { file, priceAs = {} }: { readonly file: string; readonly priceAs?: PriceAs },
): PriceFile {
  // Editors of some systems write a byte order mark.
  const content = jsonOf(text.replace(/^\uFEFF/, ""));
  const [book, ...others] = isJsonObject(content) ? books.filter((each) => each.isOf(content)) : [];
  if (!isJsonObject(content) || book === undefined || others.length > 0)
    throw new TurnlogError(
      "prices-unusable",
      `${file} is ${shapeOf(content)}; give LiteLLM's model_prices_and_context_window.json, or models.dev's api.json`,
    );
  const renamed = new Map(
    Object.entries(priceAs).map(([model, name]) => [model, namedEntry(book, content, { file, name })]),
  );
  const known = new Map<string, ReturnType<PriceFile["entryFor"]>>();
  return {
    ...{ file, sha256: sha256Hex(text), format: book.format },
    entryFor(asked) {
      const key = JSON.stringify([asked.endpoint, asked.served, asked.declared]);
      const before = known.get(key);
      if (before !== undefined) return before;
      const vendor = vendorOf(asked.endpoint);
      const names = [asked.served, asked.declared].filter((name) => name !== null);
      const found = names.map((name) => renamed.get(name) ?? book.found(content, name, vendor));
      const entry = found.find((each) => isJsonObject(each)) ?? found.find((each) => each !== null) ?? null;
      known.set(key, entry);
      return entry;
    },
  };
}

function namedEntry(
  book: PriceBook,
  content: JsonObject,
  { file, name }: { readonly file: string; readonly name: string },
): PriceEntry {
  const entry = book.named(content, name);
  if (entry !== null && entry !== "ambiguous") return entry;
  const problem = entry === null ? `has no entry '${name}'` : `has several entries '${name}'; write PROVIDER/MODEL`;
  throw new TurnlogError("prices-unusable", `${file} ${problem}`);
}

function shapeOf(content: unknown): string {
  if (content === undefined) return "not JSON";
  if (!isJsonObject(content)) return "JSON of another form";
  return `JSON of another form, with ${counted(Object.keys(content).length, "member")}`;
}
