import type { Actor } from "../../domain/actor.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";
import type { ApprovalRequestedData } from "../../domain/events/tool-events.ts";
import { conversationIdSchema, conversationOfStream } from "../../domain/ids.ts";
import type { ConversationWriter } from "../../log/writer/conversation-writer.ts";
import type { OpenRun } from "../../projections/client-turn/open-run.ts";
import { askedCall, expiredIn, undecidedIn } from "../../projections/views/waiting.ts";
import { askHandler, decidedData } from "../effects/ask-approval.ts";
import type { EngineOptions } from "../options/engine.ts";
import { ConversationMovedError, throwIfCancelled } from "../session/errors.ts";
import { engineActor } from "../session/session.ts";
import { timeNow } from "../session/time-now.ts";
import type { RunRequest } from "./run-options.ts";

type Judging = Pick<RunRequest, "onMessageWhileWaiting" | "signal">;

/**
 * Decides about the calls that wait for approval what this process can decide: those whose time is over, those that the caller denies because
 * a message came, and those that a person who is there decides. Returns the run as it is then.
 *
 * @throws {ConversationMovedError} if the run ended meanwhile.
 */
export async function judgeWaiting(
  stream: ConversationWriter,
  run: OpenRun,
  engine: EngineOptions,
  { onMessageWhileWaiting = "wait", signal }: Judging,
): Promise<OpenRun> {
  if (undecidedIn(run).length === 0) return run;
  const decide = async (data: ConversationEventOf<"ApprovalDecided">["data"], actor: Actor): Promise<void> => {
    // Rejected if somebody else has decided meanwhile: that decision counts.
    await stream.commit([{ event: { type: "ApprovalDecided", version: 1, data }, actor, runId: run.id }]);
  };
  for (const asked of expiredIn(run, timeNow(engine))) await decide(expiry(asked).data, engineActor);
  if (onMessageWhileWaiting === "deny" && run.pending.length > 0)
    for (const asked of undecidedIn(run)) await decide(denial(asked), engineActor);
  const unasked = engine.onApproval === null ? [] : undecidedIn(run);
  for (const asked of unasked) {
    const call = askedCall(run, asked);
    if (call === null) continue;
    const tool = engine.tools.find(({ name }) => name === asked.name);
    const conversationId = conversationIdSchema.parse(conversationOfStream(stream.name));
    const place = { conversationId, runId: run.id, signal: signal ?? new AbortController().signal };
    const decision = await askHandler(engine.onApproval, { ...place, asked, call, tool }).catch((error: unknown) => {
      throwIfCancelled(signal, run.id);
      throw error;
    });
    if (decision !== null) await decide(decidedData(asked, decision), decision.actor);
  }
  const now = stream.view.client.run;
  if (now?.id !== run.id) throw new ConversationMovedError();
  return now;
}

/** The decision that no person made in time. */
export const expiry = ({ blockId, inputDigest }: ApprovalRequestedData): ConversationEventOf<"ApprovalDecided"> => ({
  type: "ApprovalDecided",
  version: 1,
  data: { blockId, inputDigest, how: "expire" },
});

const denial = ({ blockId, inputDigest }: ApprovalRequestedData) =>
  ({ blockId, inputDigest, how: "deny", message: "a new message came before a decision did" }) as const;
