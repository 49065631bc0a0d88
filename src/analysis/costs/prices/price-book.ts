import type { JsonObject } from "../../../base/json.ts";
import type { PriceEntry } from "./price-entry.ts";
import type { Vendor } from "./vendors.ts";

/** Reads one form of price files. */
export type PriceBook = {
  readonly format: "litellm" | "models.dev";
  /** Whether a file has this form. */
  readonly isOf: (file: JsonObject) => boolean;
  /** The entry of this name; `ambiguous` if several have it, with different prices. */
  readonly named: (file: JsonObject, name: string) => PriceEntry | "ambiguous" | null;
  /** The entry of a model that an endpoint of this vendor served. */
  readonly found: (file: JsonObject, model: string, vendor: Vendor | null) => PriceEntry | "ambiguous" | null;
};
