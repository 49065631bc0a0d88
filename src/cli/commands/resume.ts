import type { Conversation } from "../../conversation/conversation.ts";
import type { Block } from "../../domain/block.ts";
import type { Settlement } from "../../domain/events/tool-events.ts";
import { type BlockId, conversationStream } from "../../domain/ids.ts";
import { idInDoubt } from "../../engine/stack/doubt.ts";
import type { RunResult } from "../../engine/stack/result.ts";
import { counted, excerpt, printable } from "../../projections/wording.ts";
import type { CliContext, CommandHandler } from "../context.ts";
import { type ExitCode, exitCodes, UsageError } from "../exit-codes.ts";
import { findConversation } from "../find.ts";
import { flag, textOption } from "../options.ts";
import { settlementsOf, settlementWords, type TypedSettlement } from "../settlements.ts";
import { loadEngine } from "../stack-file.ts";

/**
 * Finishes a run that was cut off, and says what it did; or says what became of calls in doubt, so that it can be finished.
 * It is not interrupted but killed: then the run is cut off once more, and nothing is lost.
 */
export const run: CommandHandler = async (context, { arguments: [name = ""], options }) => {
  const path = textOption(options, "stack");
  const settlements = settlementsOf(options);
  const isAbandoned = flag(options, "abandon");
  if (path === null && settlements.length === 0 && !isAbandoned)
    throw new UsageError(
      "name the run's engine with --stack FILE, settle a call with --settle CALL=rerun, or give the run up with --abandon",
    );
  if (isAbandoned && (path !== null || settlements.length > 0))
    throw new UsageError("--abandon gives the run up as it is: leave out --stack and --settle");
  const engine = path === null ? null : await loadEngine(path);
  await using store = await context.openStore({ mustExist: true, isWritten: true });
  const conversation = await findConversation(store, name);
  const settled = await settle(conversation, settlements);
  const before = (await store.events.head(conversationStream(conversation.id)))?.revision ?? -1;
  const takeover = flag(options, "takeover");
  const abandoned = isAbandoned ? await conversation.abandon({ takeover }) : null;
  const result = engine === null ? null : await conversation.resume(engine, { takeover });
  const report: Report = {
    conversation: conversation.id,
    settled,
    result,
    abandoned,
    did: await didSince(conversation, before),
    ...(await stateOf(conversation)),
  };
  return tell(context, report, engine !== null);
};

/** All of them, or none: one that is not in doubt is refused before any is written. Gives their block ids. */
async function settle(conversation: Conversation, settlements: readonly TypedSettlement[]): Promise<readonly string[]> {
  if (settlements.length === 0) return [];
  const { run } = await (await conversation.at(-1)).load();
  const named = new Map<BlockId, Settlement>();
  for (const { call, settlement } of settlements) {
    const blockId = idOf(call, run?.inDoubt ?? new Map());
    if (named.has(blockId)) throw new UsageError(`--settle names ${blockId} twice, once as ${call}: say it once`);
    named.set(blockId, settlement);
  }
  for (const [blockId, settlement] of named) await conversation.settle(blockId, settlement);
  return [...named.keys()];
}

function idOf(call: string, inDoubt: ReadonlyMap<BlockId, string>): BlockId {
  try {
    return idInDoubt(call, inDoubt);
  } catch (error) {
    throw error instanceof TypeError ? new UsageError(error.message, { cause: error }) : error;
  }
}

type InDoubt = { readonly blockId: string; readonly name: string; readonly arguments: string };

type State = { readonly runId: string | null; readonly inDoubt: readonly InDoubt[] };

/** The run that is open now, and the calls that it waits for. */
async function stateOf(conversation: Conversation): Promise<State> {
  const { run: open } = await (await conversation.at(-1)).load();
  if (open === null) return { runId: null, inDoubt: [] };
  const calls = new Map<string | null, Block>(open.calls.map((call) => [call.id, call]));
  const inDoubt = [...open.inDoubt].map(([blockId, name]) => {
    return { blockId, name, arguments: calls.get(blockId)?.arguments ?? "" };
  });
  return { runId: open.id, inDoubt };
}

type Did = { requests: number; fetched: number; tools: number; events: number };

/** What was done from a revision on. */
async function didSince(conversation: Conversation, revision: number): Promise<Did> {
  const did: Did = { requests: 0, fetched: 0, tools: 0, events: 0 };
  const asked = new Set<string>();
  for await (const { event } of conversation.events(revision + 1)) {
    did.events += 1;
    if (event.type === "ToolStarted") did.tools += 1;
    if (event.type === "InferenceRequested") {
      did.requests += 1;
      asked.add(event.data.inferenceId);
    }
    if (event.type === "ResponseReceived" && !asked.has(event.data.inferenceId)) did.fetched += 1;
  }
  return did;
}

type Report = State & {
  readonly conversation: string;
  readonly settled: readonly string[];
  readonly result: RunResult | null;
  /** The run that was given up. */
  readonly abandoned: string | null;
  readonly did: Did;
};

function tell(context: CliContext, report: Report, isResumed: boolean): ExitCode {
  const { conversation, result, abandoned, inDoubt, settled, did } = report;
  const runId = abandoned ?? report.runId;
  const open = runId === null ? "none" : inDoubt.length > 0 ? "parked" : "open";
  const status = result?.status ?? (abandoned === null ? open : "abandoned");
  const isWaiting = isResumed && status === "parked";
  if (context.isJson) {
    const doubts = inDoubt.map((doubt) => ({ ...doubt, settle: settlementWords(doubt.blockId) }));
    const text = result?.text ?? "";
    context.printJson({ conversation, runId: result?.runId ?? runId, status, settled, did, text, inDoubt: doubts });
    return isWaiting ? exitCodes.failure : exitCodes.ok;
  }
  const { style } = context;
  if (settled.length > 0) context.note(`settled: ${settled.join(", ")}`);
  if (status === "none") context.note(`no run of ${conversation} was cut off: nothing to do`);
  else
    context.print(
      `${style.bold(result?.runId ?? runId ?? "")}  ${statusWords[status]}${result === null ? "" : didWords(did)}`,
    );
  if (result !== null && result.text !== "") context.print(printable(result.text));
  for (const doubt of inDoubt) tellDoubt(context, doubt);
  return isWaiting ? exitCodes.failure : exitCodes.ok;
}

const statusWords = {
  completed: "completed",
  "calls-open": "completed; calls wait for an answer from outside the engine",
  incomplete: "completed; the last answer broke off at a limit",
  parked: "waits: nobody knows whether these happened",
  abandoned: "given up: what it did stays, and every call is answered",
  open: "can go on: resume it with --stack FILE",
} as const;

function didWords({ requests, fetched, tools }: Did): string {
  const done = [
    ...(requests === 0 ? [] : [counted(requests, "request")]),
    ...(fetched === 0 ? [] : [`${counted(fetched, "response")} fetched`]),
    ...(tools === 0 ? [] : [counted(tools, "tool")]),
  ];
  return done.length === 0 ? "; all was in the log" : `: ${done.join(", ")}`;
}

function tellDoubt({ print, style, columns }: CliContext, { blockId, name, arguments: given }: InDoubt): void {
  print(`  ${style.warn(printable(name))} ${excerpt(given, Math.max(columns - name.length - 4, 20))}`);
  for (const words of settlementWords(blockId)) print(`    ${words}`);
}
