import type { Block } from "../../domain/block.ts";
import type { Repair } from "../../domain/events/inference-events.ts";
import type { Turn } from "../../domain/turn.ts";
import { answers, type CallFacts, callFacts, isResult, resultKey } from "./pairs.ts";
import type { Candidate } from "./shape.ts";

/** What a request without a result to an open call says instead. */
export const abortedOutput = "aborted";

type OpenCall = CallFacts & {
  readonly index: number;
  /** The call id as this request sends it. */
  readonly sentKey: string;
};

type Held = {
  /** The anchor's output, at `heldFrom`: its calls are open, for the server answers no others before them. */
  readonly heldOutput: readonly Block[];
  readonly heldFrom: number;
  readonly turn: Turn;
};

/** Rule 3: every call is answered once, before the next block outside its group, and every result answers a call. */
export function pairCalls(kept: readonly Candidate[], held: Held): readonly Repair[] {
  const repairs: Repair[] = [];
  const sentKeys = new Set<string>();
  let open = openCallsHeld(held, kept);
  let group: { readonly last: Candidate; readonly start: number } | null = null;
  for (const candidate of kept) {
    const { block, index } = candidate;
    if (isResult(block)) {
      const call = open.findLast((each) => answers(block, each) && (resultKey(block) !== null || open.length === 1));
      if (call !== undefined) {
        open = open.filter((each) => each !== call);
        if (call.sentKey !== call.key) repairs.push({ action: "rename-call", index, callId: call.sentKey });
      } else if (!isServersOwn(candidate)) repairs.push({ action: "omit", index, rule: "no-open-call" });
      if (group?.last.group === null) group = null;
      continue;
    }
    group = { last: candidate, start: group !== null && sharesGroup(group.last, candidate) ? group.start : index };
    const { start } = group;
    const due = open.filter((call) => !call.mayStayOpen && call.index < start);
    repairs.push(...due.map((call) => answer(call, index)));
    open = open.filter((call) => !due.includes(call));
    const call = callFacts(block);
    if (call === null) continue;
    const sentKey = unusedKey(call.key, sentKeys);
    sentKeys.add(sentKey);
    if (sentKey !== call.key) repairs.push({ action: "rename-call", index, callId: sentKey });
    open.push({ ...call, index, sentKey });
  }
  return [...repairs, ...open.filter((call) => !call.mayStayOpen).map((call) => answer(call, held.turn.length))];
}

const answer = (call: OpenCall, before: number): Repair => ({
  action: "answer",
  index: call.index,
  before,
  callId: call.sentKey,
});

/** Blocks of one response, or neighbours that no response groups and that only a model says. */
function sharesGroup(before: Candidate, after: Candidate): boolean {
  if (before.group !== null || after.group !== null) {
    // A copy of an item is not the item again: whether the server holds the first must not change what is sent.
    const isLater = (after.block.wire?.group?.index ?? 0) > (before.block.wire?.group?.index ?? 0);
    return before.group === after.group && isLater;
  }
  return isModelSide(before.block) && isModelSide(after.block);
}

const isModelSide = (block: Block): boolean => block.kind !== "user" && block.kind !== "system";

/** A result that came with a response: the server ran the tool itself. */
const isServersOwn = ({ block, isIntact }: Candidate): boolean => isIntact && block.wire?.group !== undefined;

function unusedKey(key: string, used: ReadonlySet<string>): string {
  if (!used.has(key)) return key;
  let n = 2;
  while (used.has(`${key}_${n}`)) n += 1;
  return `${key}_${n}`;
}

/**
 * The calls that the anchor leaves open: those of its output, and calls before it that may stay open and are answered
 * here. The latter are looked for only when a result to send finds none in the output.
 */
function openCallsHeld({ heldOutput, heldFrom, turn }: Held, kept: readonly Candidate[]): OpenCall[] {
  const open = openIn(heldOutput, heldFrom);
  const finds = (result: Block): boolean => open.some((call) => answers(result, call));
  if (kept.every(({ block }) => !isResult(block) || finds(block))) return open;
  const before = turn.blocks.slice(0, heldFrom);
  return [...openIn(before, 0).filter((call) => call.mayStayOpen), ...open];
}

function openIn(blocks: readonly Block[], start: number): OpenCall[] {
  const open: OpenCall[] = [];
  for (const [offset, block] of blocks.entries()) {
    const call = callFacts(block);
    if (call !== null) {
      open.push({ ...call, index: start + offset, sentKey: call.key });
    } else if (isResult(block)) {
      const answered = open.findLastIndex((each) => answers(block, each));
      if (answered >= 0) open.splice(answered, 1);
    }
  }
  return open;
}
