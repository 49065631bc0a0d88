import type { Conversation } from "../../../src/conversation/conversation.ts";
import type { ApprovalDecidedData } from "../../../src/domain/events/tool-events.ts";
import { type Deed, limit } from "./approval-actor.ts";

type Decision = ApprovalDecidedData & { readonly name: string | undefined };

/** What the logs of some conversations say, by call. */
type Recorded = {
  readonly asked: Set<string>;
  readonly started: Set<string>;
  readonly decisions: Map<string, Decision>;
  /** The results that the model reads. */
  readonly read: Map<string, string>;
};

/** What is wrong with conversations that have come to their end: their logs and Turns, compared with what processes meant and did. */
export async function faultsIn(
  conversations: readonly Conversation[],
  deeds: readonly Deed[],
): Promise<readonly string[]> {
  const faults: string[] = [];
  const recorded: Recorded = { asked: new Set(), started: new Set(), decisions: new Map(), read: new Map() };
  for (const conversation of conversations) faults.push(...(await readLog(conversation, recorded)));
  for (const call of recorded.asked) faults.push(...faultsOfAsked(call, recorded, deeds));
  const ran = deeds.filter((deed) => deed.kind === "ran");
  for (const { key, name, input } of ran) {
    const amount = Number(/\d+/.exec(JSON.stringify(input))?.[0] ?? 0);
    if (!recorded.started.has(key)) faults.push(`${key} ran, and no log has its start`);
    if (ran.filter((deed) => deed.key === key).length > 1) faults.push(`${key} ran twice`);
    if (name === "refund" && amount > limit && !isYes(recorded.decisions.get(key)))
      faults.push(`${key} ran without approval`);
  }
  return faults;
}

const isYes = (decision: Decision | undefined): boolean => decision?.how === "approve" || decision?.how === "edit";

async function readLog(conversation: Conversation, recorded: Recorded): Promise<readonly string[]> {
  const { asked, started, decisions, read } = recorded;
  const faults: string[] = [];
  const results = new Map<string, string>();
  for await (const { event, actor } of conversation.history()) {
    if (event.type === "ApprovalRequested") asked.add(event.data.blockId);
    if (event.type === "ApprovalDecided") {
      const { blockId: call } = event.data;
      // A decision holds for its arguments, and no layer changes them here.
      if (decisions.has(call)) faults.push(`${call} was decided twice`);
      decisions.set(call, { ...event.data, name: "name" in actor ? actor.name : undefined });
    }
    if (event.type === "ToolStarted") {
      started.add(event.data.blockId);
      if (asked.has(event.data.blockId) && !isYes(decisions.get(event.data.blockId)))
        faults.push(`${event.data.blockId} began before it was approved`);
    }
    if (event.type === "ToolFinished" && event.data.late !== true)
      results.set(event.data.blockId, JSON.stringify(event.data.result.payload["output"]));
  }
  const { blocks } = await conversation.turn();
  const texts = new Set(blocks.map(({ text }) => JSON.stringify(text)));
  for (const [call, result] of results) if (texts.has(result)) read.set(call, result);
  return faults;
}

/** What is wrong with a call that somebody was asked about. */
function faultsOfAsked(call: string, recorded: Recorded, deeds: readonly Deed[]): readonly string[] {
  const [decision, result] = [recorded.decisions.get(call), recorded.read.get(call)];
  if (decision === undefined) return [`${call} was never decided`];
  const { how } = decision;
  if (result === undefined) return [`the model does not read what became of ${call} (${how})`];
  const said = deeds.filter((deed) => "call" in deed && deed.call === call);
  const taken = said.filter((deed) => deed.kind === "decided" && deed.outcome === "new");
  const faults = taken.length > 1 ? [`two decisions about ${call} were taken`] : [];
  const ran = deeds.flatMap((deed) => (deed.kind === "ran" && deed.key === call ? [JSON.stringify(deed.input)] : []));
  if (!isYes(decision)) {
    if (ran.length > 0) faults.push(`${call} ran although it was decided: ${how}`);
    if (!/^"(denied|not approved)/.test(result)) faults.push(`${call} was decided: ${how}, but reads ${result}`);
  }
  if (how === "expire") return faults;
  const meant = said.find((deed) => deed.kind === "means" && deed.by === decision.name && deed.how === how);
  if (meant?.kind !== "means") return [...faults, `${String(decision.name)} did not mean to ${how} ${call}`];
  if (!isYes(decision)) return faults;
  const input = JSON.stringify(meant.input);
  if (ran.length !== 1) faults.push(`${call} was approved and ran ${ran.length} times`);
  if (ran.some((given) => given !== input))
    faults.push(`${call} was approved with ${input}, and ran with ${ran.join()}`);
  if (!result.includes("settled ") && !result.includes(JSON.stringify(`refund of ${input}`).slice(1, -1)))
    faults.push(`${call} was approved, but reads ${result}`);
  return faults;
}
