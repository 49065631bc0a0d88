import { InvalidArgumentError, Option } from "commander";
import { type BillBy, billKinds, isBillBy } from "../../analysis/costs/prices/bill-by.ts";
import type { Settlement } from "../../domain/events/tool-events.ts";

/*
 * Options, and parsers of their values for commander. Each parser rejects an invalid value and says what it expected; commander
 * adds the option and the given value.
 */

export const option = (flags: string, description: string): Option => new Option(flags, description);

/** The option for the id of a new conversation, spelled the same in all commands. */
export const newId = (when = "", otherwise = "; by default a random one"): Option =>
  option("--id <id>", `${when}the id of the new conversation${otherwise}`);

type Range = { readonly least: number; readonly most?: number; readonly isWhole?: boolean };

export function numberIn({ least, most = Number.MAX_SAFE_INTEGER, isWhole = true }: Range): (text: string) => number {
  return (text) => {
    const value = text.trim() === "" ? Number.NaN : Number(text);
    if (value >= least && value <= most && (!isWhole || Number.isInteger(value))) return value;
    const bounds = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
    throw new InvalidArgumentError(`Expected a ${isWhole ? "whole " : ""}number ${bounds}.`);
  };
}

/** A count of at least one. */
export const count = numberIn({ least: 1 });

/** A text that the log of an erasure keeps: not free text, which might be personal. */
export function erasureCode(text: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(text)) return text;
  throw new InvalidArgumentError("Expected a code of 1 to 64 letters, digits, _ or -: it stays in the log.");
}

export function someText(text: string): string {
  if (text.trim() === "") throw new InvalidArgumentError("Expected some text.");
  return text;
}

/** A server's address, with the path that clients need if it was given without one. */
export function serverAddress(text: string): string {
  if (!URL.canParse(text)) throw new InvalidArgumentError("Expected an address such as http://127.0.0.1:4010.");
  const url = new URL(text);
  return url.pathname === "/" ? `${url.origin}/v1` : text;
}

/** A call in doubt, by its block id or its tool's name, and how to settle it. */
export type TypedSettlement = { readonly call: string; readonly settlement: Settlement };

/** Parses another `CALL=rerun`, `CALL=abandon` or `CALL=result:TEXT`. */
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

/** The options that settle a call in doubt. */
export const settlementWords = (blockId: string): readonly string[] =>
  ["rerun", "abandon", "result:TEXT"].map((how) => `--settle ${blockId}=${how}`);

/** Adds a value of an option that may be repeated. */
export const oneMore = (text: string, before: readonly string[] = []): readonly string[] => [...before, someText(text)];

/** Parses another `NAME=VALUE`. */
export function labelOption(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("Expected NAME=VALUE, such as user=ann.");
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

/** By what `bill` lists costs. */
export function billedBy(text: string): BillBy {
  if (isBillBy(text)) return text;
  throw new InvalidArgumentError(`Expected ${billKinds.join(", ")} or label:NAME.`);
}

const unitsMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** Parses a time into ISO text: either a time, by default in UTC, or a duration before now. */
export const timeBefore =
  (clock: () => number) =>
  (text: string): string => {
    const [, amount, unit] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
    if (isUnit(unit)) return new Date(clock() - Number(amount) * unitsMs[unit]).toISOString();
    const time = isoTime.test(text)
      ? Date.parse(hasZone.test(text) ? text : `${text.replace(" ", "T")}${text.length > 10 ? "Z" : ""}`)
      : Number.NaN;
    if (!Number.isNaN(time)) return new Date(time).toISOString();
    throw new InvalidArgumentError(
      "Expected a time such as 2026-09-01 or 2026-09-01T12:30, or how long ago: 30m, 2h, 3d.",
    );
  };

const isoTime = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)?)?$/;
const hasZone = /(?:Z|[+-]\d\d:\d\d)$/;
const isUnit = (unit: string | undefined): unit is keyof typeof unitsMs =>
  unit !== undefined && Object.hasOwn(unitsMs, unit);
