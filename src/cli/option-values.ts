import { InvalidArgumentError, Option } from "commander";
import type { Settlement } from "../domain/events/tool-events.ts";

/*
 * Options, and parsers of their values for commander. Each refuses what cannot be meant and says what was expected; commander says which
 * option was given what.
 */

export const option = (flags: string, description: string): Option => new Option(flags, description);

type Range = { readonly least: number; readonly most?: number; readonly isWhole?: boolean };

export function numberIn({ least, most = Number.MAX_SAFE_INTEGER, isWhole = true }: Range): (text: string) => number {
  return (text) => {
    const value = text.trim() === "" ? Number.NaN : Number(text);
    if (value >= least && value <= most && (!isWhole || Number.isInteger(value))) return value;
    const bounds = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
    throw new InvalidArgumentError(`Expected a ${isWhole ? "whole " : ""}number ${bounds}.`);
  };
}

/** How many, where none is not meant. */
export const count = numberIn({ least: 1 });

export function someText(text: string): string {
  if (text.trim() === "") throw new InvalidArgumentError("Expected some text.");
  return text;
}

/** The address of a server, with the path that clients want where it was named without one. */
export function serverAddress(text: string): string {
  if (!URL.canParse(text)) throw new InvalidArgumentError("Expected an address such as http://127.0.0.1:4010.");
  const url = new URL(text);
  return url.pathname === "/" ? `${url.origin}/v1` : text;
}

/** A call in doubt, by its block id or the name of its tool, and what became of it. */
export type TypedSettlement = { readonly call: string; readonly settlement: Settlement };

/** Takes one more `CALL=rerun`, `CALL=abandon` or `CALL=result:TEXT`. */
export function settlement(text: string, before: readonly TypedSettlement[] = []): readonly TypedSettlement[] {
  const at = text.indexOf("=");
  const [call, how] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
  const said = call === "" ? null : settlementOf(how);
  if (said === null) throw new InvalidArgumentError("Expected CALL=rerun, CALL=abandon or CALL=result:TEXT.");
  return [...before, { call, settlement: said }];
}

function settlementOf(how: string): Settlement | null {
  if (how === "rerun" || how === "abandon") return { how };
  return how.startsWith("result:") ? { how: "result", output: how.slice("result:".length) } : null;
}

/** What can be typed for a call in doubt. */
export const settlementWords = (blockId: string): readonly string[] =>
  ["rerun", "abandon", "result:TEXT"].map((how) => `--settle ${blockId}=${how}`);
