import { anything, optionsOf, required, textOf, type ValueCheck } from "../base/options.ts";
import type { Actor } from "../domain/actor.ts";
import { type BlockId, type ConversationId, keyedBlockId } from "../domain/ids.ts";
import { type ApprovalDecision, namedActor, recordableInput } from "../engine/options/approvals.ts";

/** Who denies a call, and what the model reads. */
export type DenyOptions = {
  /** A text for the model: why, and what to do instead. */
  readonly message?: string;
  /** The named person, or program, that decides. */
  readonly actor: Actor;
  /** The same for each delivery of this decision. */
  readonly key?: string;
};

/** Who approves a call, and with which arguments. */
export type ApproveOptions = DenyOptions & {
  /** Runs the call with these arguments instead of the model's: all of them, as the tool's schema has them. The result tells the model. */
  readonly input?: unknown;
};

const actor: ValueCheck<Actor> = required((what, given) => namedActor(what.replace(/: actor$/, ""), given));

const denyOptions = optionsOf<DenyOptions>({
  ...{ message: textOf("a text for the model, or leave it out"), actor, key: textOf("the key of this decision") },
});
const approveOptions = optionsOf<ApproveOptions>({ ...denyOptions.table, input: anything });

/** Checks the options of a decision. */
export function checkedApproval(
  where: "approve" | "deny",
  id: ConversationId,
  options: ApproveOptions,
): { readonly where: string; readonly decision: ApprovalDecision; readonly key: BlockId | null } {
  (where === "approve" ? approveOptions : denyOptions).check(where, options);
  const { input, message, key } = options;
  const said = { ...(message === undefined ? {} : { message }), actor: namedActor(where, options.actor) };
  const decision: ApprovalDecision =
    where === "approve" && input !== undefined
      ? { how: "edit", input: recordableInput(where, input), ...said }
      : { how: where, ...said };
  // Not the id of a message with the same key.
  return { where, decision, key: key === undefined ? null : keyedBlockId(id, `decision ${key}`, 0) };
}
