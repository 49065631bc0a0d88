import { codecs } from "../../../providers/codecs.ts";
import { cacheRules } from "../prompt-cache/cache-rules.ts";
import type { BillCell } from "./bill-cells.ts";
import type { FirstRequest, Miss } from "./misses.ts";
import type { PrefixUse } from "./prefix-uses.ts";

/**
 * Why the first request of an endpoint read what it read, if another conversation used its settings prefix before; null if that explains
 * nothing. The tokens of the prefix are estimated from bytes.
 */
export function firstMiss(cell: BillCell, first: FirstRequest, use: PrefixUse): Miss | null {
  const family = codecs.get(first.encoder)?.family ?? "";
  const model = cell.served ?? cell.declared ?? "";
  const { minimumTokens, stepTokens, lifetimes } = cacheRules(family, { model, at: first.at });
  const written = Object.values(cell.written).reduce((sum, tokens) => sum + tokens, 0);
  const prefix = Math.round(((cell.uncached + cell.read + written) * first.bytes) / Math.max(1, cell.bytes));
  const step = stepTokens ?? unknownStep;
  // A prefix of about the minimum may be too short for an entry.
  if (prefix * (1 - aboutShare) < Math.max(minimumTokens ?? 0, step)) return null;
  if (cell.read >= prefix * (1 - aboutShare) - step) return { cause: "read", author: null, lost: 0, removed: 0 };
  const { leastMs = null, mostMs = null } = lifetimes["default"] ?? {};
  const at = Date.parse(first.at);
  const idleMs = at - use.at;
  const lost = { author: null, lost: prefix - cell.read, removed: 0 };
  if (use.readableFrom > at) return { ...lost, cause: "not-yet-readable" };
  if (mostMs !== null && idleMs > mostMs) return { ...lost, cause: "expired" };
  return { ...lost, cause: idleMs > (leastMs ?? 0) ? "maybe-expired" : "unexplained" };
}

/** The largest step that a vendor names, and how far an estimate from bytes may be off. */
const [unknownStep, aboutShare] = [128, 0.15];
