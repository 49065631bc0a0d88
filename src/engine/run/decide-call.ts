import * as z from "zod";
import type { JsonObject, JsonValue } from "../../base/json.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { describeActor } from "../../domain/actor.ts";
import type { ApprovalDecidedData } from "../../domain/events/tool-events.ts";
import { type BlockId, blockIdSchema, blockNameSchema } from "../../domain/ids.ts";
import type { ConversationWriter } from "../../log/writer/conversation-writer.ts";
import type { AskedApproval, OpenRun } from "../../projections/client-turn/open-run.ts";
import { isExpired, undecidedIn } from "../../projections/views/waiting.ts";
import { decidedData } from "../effects/ask-approval.ts";
import type { ApprovalDecision } from "../options/approvals.ts";
import { issuesText } from "../ports/schema.ts";
import { engineActor } from "../session/session.ts";
import { timeNow } from "../session/time-now.ts";
import { expiry } from "./judge-waiting.ts";

/** How a decision was taken. */
export type Decided = {
  /** False if the same had been decided before: nothing was recorded then. */
  readonly isNew: boolean;
};

type Deciding = {
  /** The method that decides. */
  readonly where: string;
  readonly decision: ApprovalDecision;
  /** The same for each delivery of this decision. */
  readonly key: BlockId | null;
};

/**
 * Records a person's decision about a call that waits for approval; the next run continues with it.
 *
 * @param call - The id of the call's block.
 * @throws {TurnlogError} `not-waiting` if no such call waits for approval, `approval-decided` if another decision was made, `approval-expired`
 *   if its time is over, `approval-input` if the tool's schema refuses the edited input, `access-denied` if this caller may not approve.
 */
export async function decideCall(writer: ConversationWriter, call: string, deciding: Deciding): Promise<Decided> {
  const { where, decision, key } = deciding;
  const { log } = writer;
  await log.store.checkApproval?.(writer.name);
  const blockId = blockIdSchema.safeParse(call);
  const { run } = (await writer.refresh()).client;
  if (!blockId.success) throw notWaiting(where, call, run);
  const found = run?.approvals.get(blockId.data);
  if (found !== undefined && run !== null && found.decision === null) {
    if (isExpired(found.asked, timeNow(log))) {
      await writer.commit([{ event: expiry(found.asked), actor: engineActor, runId: run.id }]);
      throw expired(where, call, found);
    }
    if (decision.how === "edit") checkInput(where, decision.input, found.asked.inputSchema);
  }
  // A decision about a call that was not asked about passes only if its key is known, and then nothing is recorded.
  const asked = found?.asked ?? { blockId: blockId.data, inputDigest: nothingAsked };
  const data: ApprovalDecidedData = { ...decidedData(asked, decision), ...(key === null ? {} : { key }) };
  const event = { type: "ApprovalDecided", version: 1, data } as const;
  const result = await writer.commit([{ event, actor: decision.actor, runId: run?.id ?? "" }]);
  if (result.status === "committed") return { isNew: result.events.length > 0 };
  const now = writer.view.client.run;
  const known = now?.approvals.get(blockId.data);
  if (result.rejection.code !== "approval-decided" || known === undefined) throw notWaiting(where, call, now);
  throw known.decision?.data.how === "expire" ? expired(where, call, known) : decidedAlready(where, call, known);
}

const nothingAsked = blockNameSchema.parse("0".repeat(64));

/** @throws {TurnlogError} `approval-input` if the schema refuses the input: the tool would, too. */
function checkInput(where: string, input: JsonValue, schema: JsonObject | undefined): void {
  const check = schema === undefined ? null : schemaOf(schema);
  const parsed = check?.safeParse(input);
  if (parsed?.success !== false) return;
  throw new TurnlogError(
    "approval-input",
    `${where}: the tool does not take the edited input: ${issuesText(parsed.error.issues).replaceAll(/\s+/gu, " ")}; give all arguments as the tool's schema has them`,
  );
}

/** Null for a schema that cannot be checked here: the tool itself checks the input before it begins. */
function schemaOf(schema: JsonObject): z.ZodType | null {
  try {
    return z.fromJSONSchema(schema);
  } catch {
    return null;
  }
}

const shownCalls = 5;

function notWaiting(where: string, call: string, run: OpenRun | null): TurnlogError<"not-waiting"> {
  const waiting = run === null ? [] : undecidedIn(run);
  const shown = waiting.slice(0, shownCalls).map(({ blockId, name }) => `${blockId} (${name})`);
  const others =
    shown.length === 0
      ? "no call of the conversation does"
      : `${shown.join(", ")}${waiting.length > shownCalls ? ", …" : ""} ${shown.length === 1 ? "does" : "do"}`;
  const byName = waiting.some(({ name }) => name === call) ? "; give the id of its block, not the tool's name" : "";
  return new TurnlogError("not-waiting", `${where}: '${call}' does not wait for approval: ${others}${byName}`);
}

const expired = (where: string, call: string, { asked: { expiresAt } }: AskedApproval): TurnlogError =>
  new TurnlogError(
    "approval-expired",
    `${where}: the call ${call} counts as denied since ${expiresAt ?? "it was given up"}: the next run tells the model`,
  );

function decidedAlready(where: string, call: string, { decision }: AskedApproval): TurnlogError {
  const words = {
    approve: "approved",
    edit: "approved with other arguments",
    deny: "denied",
    expire: "denied",
  } as const;
  const said = decision === null ? "decided" : `${words[decision.data.how]} by ${describeActor(decision.actor)}`;
  return new TurnlogError(
    "approval-decided",
    `${where}: the call ${call} was already ${said}: the first decision counts`,
  );
}
