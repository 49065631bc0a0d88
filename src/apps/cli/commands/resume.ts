import type * as z from "zod";
import type { ListedConversation } from "../../../analysis/lists/list.ts";
import { counted } from "../../../base/counted.ts";
import { excerpt, printable } from "../../../base/printable.ts";
import type { Conversation } from "../../../conversation/conversation.ts";
import type { TurnlogStore } from "../../../conversation/turnlog-store.ts";
import type { Settlement } from "../../../domain/events/tool-events.ts";
import { type BlockId, conversationStream } from "../../../domain/ids.ts";
import { idInDoubt } from "../../../engine/options/doubt.ts";
import { settleable } from "../../../engine/run/settle.ts";
import type { EventStore } from "../../../log/ports/event-store.ts";
import { resumeDocument } from "../../documents/running.ts";
import { engineToAsk } from "../asking/engine-to-ask.ts";
import { type CommandInput, commandCode } from "../command.ts";
import type { CliContext } from "../context.ts";
import { type ExitCode, exitCodes, UsageError } from "../exit-codes.ts";
import { findConversation } from "../find.ts";
import { settlementWords, type TypedSettlement } from "../option-values.ts";
import { waitingLines } from "../waiting-lines.ts";

type ResumeDocument = z.infer<typeof resumeDocument>;

type Options = {
  readonly stack?: string;
  readonly settle?: readonly TypedSettlement[];
  readonly abandon?: boolean;
  readonly takeover?: boolean;
  readonly all?: boolean;
};

/**
 * Finishes an interrupted run and shows what it did; or first settles calls in doubt, so that it can be finished. The command does
 * not handle signals: a kill interrupts the run once more, and nothing is lost.
 */
export const resume = commandCode({
  document: resumeDocument,

  async *run(context, { arguments: [name], options }: CommandInput<Options>) {
    const { stack, settle = [], abandon: isAbandoned = false, takeover = false, all: isAll = false } = options;
    if (isAll === (name !== undefined)) throw new UsageError("name a conversation, or resume --all of them");
    const engine = goesOn(options) ? await engineToAsk(context.settings, stack, noEngine) : null;
    await using store = await context.openStore("write");
    if (name === undefined)
      return yield* resumeEach(context, store, engine ?? (await engineToAsk(context.settings, stack)));
    const conversation = await findConversation(store, name);
    const settled = await settleAll(store.events, conversation, settle);
    // Printed at once, because the calls stay settled even if the run below fails.
    if (settled.length > 0) context.note(`settled: ${settled.join(", ")}`);
    const before = (await store.events.head(conversationStream(conversation.id)))?.revision ?? -1;
    const abandoned = isAbandoned ? await conversation.abandon({ takeover }) : null;
    const result = engine === null ? null : await conversation.resume(engine, { takeover });
    const did = await didSince(conversation, before);
    const { runId: openRun, ...waits } = await stateOf(conversation);
    const runId = abandoned ?? openRun;
    const open = runId === null ? "none" : waits.waitingFor.length > 0 ? "parked" : "open";
    const status: ResumeDocument["status"] = result?.status ?? (abandoned === null ? open : "abandoned");
    yield {
      ...{ conversation: conversation.id, runId: result?.runId ?? runId, status, settled, did },
      ...{ text: result?.text ?? "", ...waits },
    };
    return engine !== null && status === "parked" ? exitCodes.failure : exitCodes.ok;
  },

  render({ conversation, runId, status, did, text, inDoubt, waitingFor }, screen, { options }: CommandInput<Options>) {
    const { style, print, note, columns } = screen;
    const isResumed = goesOn(options) && status !== "open";
    if (status === "none") note(`no run of ${conversation} was cut off: nothing to do`);
    else print(`${style.bold(runId ?? "")}  ${statusWords[status]}${isResumed ? didWords(did) : ""}`);
    if (text !== "") print(printable(text));
    for (const { name, arguments: given, settle } of inDoubt)
      print(
        `  ${style.warn(printable(name))} ${excerpt(given, Math.max(columns - name.length - 4, 20))}`,
        ...settle.map((words) => `    ${words}`),
      );
    for (const waiting of waitingFor) for (const line of waitingLines(conversation, waiting, screen)) print(line);
  },
});

/** Whether to go on with the run: a command that settles or abandons does not, unless it names an engine. */
const goesOn = ({ stack, settle = [], abandon = false }: Options): boolean =>
  stack !== undefined || (settle.length === 0 && !abandon);

const noEngine =
  "name the run's engine with --stack FILE, or in turnlog.config.json; or settle a call with --settle CALL=rerun, or abandon the run with --abandon";

/** A document for each run; fails if some could not continue. */
async function* resumeEach(
  context: CliContext,
  store: TurnlogStore,
  engine: Parameters<TurnlogStore["resumeAll"]>[0],
): AsyncGenerator<ResumeDocument, ExitCode, undefined> {
  const before = new Map<string, number>();
  const where = ({ id, events }: ListedConversation): boolean => {
    before.set(id, events - 1);
    return true;
  };
  let hasFailed = false;
  for (const { id, result, error } of await store.resumeAll(engine, { where })) {
    const conversation = store.conversation(id);
    if (error !== null) context.note(`${id}: ${error.message}`);
    hasFailed ||= result === null || result.status === "parked";
    const did = await didSince(conversation, before.get(id) ?? 0);
    const { runId, ...waits } = await stateOf(conversation);
    const status = result?.status ?? "open";
    yield {
      ...{ conversation: id, runId: result?.runId ?? runId, status, settled: [], did, ...waits },
      text: result?.text ?? "",
    };
  }
  if (before.size === 0) context.note("no run was cut off: nothing to do");
  return hasFailed ? exitCodes.failure : exitCodes.ok;
}

/** Settles all calls or none: a call that is not in doubt is rejected before any is written. Returns their block ids. */
async function settleAll(
  events: EventStore,
  conversation: Conversation,
  settlements: readonly TypedSettlement[],
): Promise<readonly string[]> {
  if (settlements.length === 0) return [];
  const { run } = (await (await conversation.at(-1)).load()).view.client;
  const inDoubt: ReadonlyMap<BlockId, string> = run === null ? new Map() : await settleable(run, events);
  const named = new Map<BlockId, Settlement>();
  for (const { call, settlement } of settlements) {
    const blockId = idOf(call, inDoubt);
    const alias = call === blockId ? "" : `, once as ${call}`;
    if (named.has(blockId)) throw new UsageError(`--settle names ${blockId} twice${alias}: name it once`);
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

/** The run that is open now, and the calls that it waits for. */
async function stateOf(conversation: Conversation): Promise<Pick<ResumeDocument, "runId" | "inDoubt" | "waitingFor">> {
  const { run: open } = await (await conversation.at(-1)).load();
  if (open === null) return { runId: null, inDoubt: [], waitingFor: [] };
  const calls = new Map<string | null, string | null>(open.calls.map((call) => [call.id, call.arguments]));
  const inDoubt = open.waitingFor.flatMap(({ kind, blockId, name }) =>
    kind === "doubt" ? [{ blockId, name, arguments: calls.get(blockId) ?? "", settle: settlementWords(blockId) }] : [],
  );
  return { runId: open.id, inDoubt, waitingFor: open.waitingFor };
}

/** What was done since a revision. */
async function didSince(conversation: Conversation, revision: number): Promise<ResumeDocument["did"]> {
  const did = { requests: 0, fetched: 0, tools: 0, events: 0 };
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

const statusWords = {
  completed: "completed",
  "calls-open": "completed; calls wait for an answer from outside the engine",
  incomplete: "completed; a limit cut off the last answer",
  parked: "parked: it waits for people, or for results from outside",
  abandoned: "abandoned: what it did stays, and every call is answered",
  open: "can continue: resume it with --stack FILE",
} as const;

function didWords({ requests, fetched, tools }: ResumeDocument["did"]): string {
  const done = [
    ...(requests === 0 ? [] : [counted(requests, "request")]),
    ...(fetched === 0 ? [] : [`${counted(fetched, "response")} fetched`]),
    ...(tools === 0 ? [] : [counted(tools, "tool")]),
  ];
  return done.length === 0 ? "; everything was in the log" : `: ${done.join(", ")}`;
}
