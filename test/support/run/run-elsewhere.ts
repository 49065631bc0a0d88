import { commit } from "../../../src/conversation/commit.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import type { ProposedEvent } from "../../../src/domain/events/recorded.ts";
import type { Owner } from "../../../src/domain/events/run-events.ts";
import { settingsNameSchema } from "../../../src/domain/ids.ts";
import { defaultChainPolicy } from "../../../src/engine/options/chain-policy.ts";

/** A process on another machine, of which the system here knows nothing. */
export const elsewhere: Owner = {
  processId: "prc_elsewhere",
  bootId: "boot",
  host: "elsewhere",
  pid: 4711,
  startedAt: "then",
  pidNamespace: "there",
};
export const foreignRunId = "run_of_someone_else00";
const digest = settingsNameSchema.parse("0".repeat(64));

/** Opens a run that another process owns. */
export async function startElsewhere(conversation: Conversation, owner: Owner = elsewhere): Promise<void> {
  const data = {
    epoch: 0,
    owner,
    stack: [],
    provider: { name: "scripted", scope: "elsewhere", codec: "codec" },
    settingsDigest: digest,
    chain: defaultChainPolicy,
    base: (await conversation.turn()).digest,
  };
  await conversation[commit]([inRun({ type: "RunStarted", version: 1, data })]);
}

export const inRun = (event: ProposedEvent["event"], runId = foreignRunId): ProposedEvent => ({
  event,
  actor: { kind: "engine" },
  runId,
  frame: "0",
});

/** Ends a run as someone does who takes it over. */
export const endOf = (runId: string, after: string): ProposedEvent =>
  inRun({ type: "RunFailed", version: 1, data: { kind: "interrupted", message: "taken over", after } }, runId);
