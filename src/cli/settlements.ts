import type { Settlement } from "../domain/events/tool-events.ts";
import type { CommandOptions } from "./context.ts";
import { UsageError } from "./exit-codes.ts";

/** A call in doubt, and what became of it, as somebody typed it. */
export type TypedSettlement = { readonly call: string; readonly settlement: Settlement };

/**
 * The settlements among the options: `CALL=rerun`, `CALL=abandon` or `CALL=result:TEXT`, a call by its block id or by the
 * name of its tool.
 *
 * @throws {UsageError} for what is none of them, and for a call that is named twice.
 */
export function settlementsOf(options: CommandOptions): readonly TypedSettlement[] {
  const typed = options["settle"];
  const settlements = Array.isArray(typed) ? typed.map((words) => settlementOf(String(words))) : [];
  const named = new Set<string>();
  for (const { call } of settlements) {
    if (named.has(call)) throw new UsageError(`--settle names ${call} twice: say it once`);
    named.add(call);
  }
  return settlements;
}

function settlementOf(words: string): TypedSettlement {
  const at = words.indexOf("=");
  const [call, how] = [words.slice(0, Math.max(at, 0)), words.slice(at + 1)];
  const settlement = call === "" ? null : said(how);
  if (settlement !== null) return { call, settlement };
  throw new UsageError(`--settle takes CALL=rerun, CALL=abandon or CALL=result:TEXT, not '${words}'`);
}

function said(how: string): Settlement | null {
  if (how === "rerun" || how === "abandon") return { how };
  return how.startsWith("result:") ? { how: "result", output: how.slice("result:".length) } : null;
}

/** What can be typed for a call in doubt. */
export const settlementWords = (blockId: string): readonly string[] =>
  ["rerun", "abandon", "result:TEXT"].map((how) => `--settle ${blockId}=${how}`);
