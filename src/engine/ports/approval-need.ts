import { isJsonObject } from "../../base/json.ts";
import { kindOf, optionsOf } from "../../base/options.ts";

/**
 * Whether a person has to approve a call: false if not; true, or the reason as a text; with `expiresInMs`, the call is denied if no decision
 * has come by then.
 */
export type ApprovalNeed = boolean | string | { readonly reason?: string; readonly expiresInMs?: number };

/** Whether calls of a tool need approval: for all of them alike, or by their arguments. */
export type ToolApproval<Input, Ctx> =
  | ApprovalNeed
  | ((input: Input, ctx: Ctx) => ApprovalNeed | Promise<ApprovalNeed>);

export function checkMessage(what: string, given: unknown): string {
  if (typeof given === "string") return given;
  throw new TypeError(`${what} is ${kindOf(given)}: give a text for the model`);
}

/** What is asked about a call that needs approval; null for one that does not. */
export type AskedNeed = { readonly reason: string | null; readonly expiresInMs: number | null };

/** A need as it is recorded. A rule that gives anything else than a need asks: an unclear authorization is none. */
export function askedNeed(given: unknown): AskedNeed | null {
  if (given === false) return null;
  if (given === true) return { reason: null, expiresInMs: null };
  if (typeof given === "string") return { reason: given === "" ? null : given, expiresInMs: null };
  const { reason, expiresInMs } = isJsonObject(given) ? given : { reason: `the rule gave ${kindOf(given)}` };
  return {
    reason: typeof reason === "string" ? reason : null,
    expiresInMs: typeof expiresInMs === "number" && expiresInMs > 0 ? expiresInMs : null,
  };
}

const needMembers = optionsOf<Exclude<ApprovalNeed, boolean | string>>({ reason: checkMessage, expiresInMs: checkMs });

function checkMs(what: string, given: unknown): number {
  if (typeof given === "number" && Number.isFinite(given) && given > 0) return given;
  throw new RangeError(`${what} is ${kindOf(given)}: give milliseconds`);
}

/** @throws {TypeError} if it is no rule for the calls of a tool. */
export function checkApproval(what: string, given: unknown): void {
  if (typeof given === "boolean" || typeof given === "string" || typeof given === "function") return;
  if (isJsonObject(given)) needMembers.check(what, given, `${what}: `);
  else
    throw new TypeError(
      `${what} is ${kindOf(given)}: give true, a reason, { reason, expiresInMs }, or a function of the input`,
    );
}
