import { excerpt } from "../../../base/printable.ts";
import type { Conversation } from "../../../conversation/conversation.ts";
import { type Block, idOf } from "../../../domain/block.ts";
import { openCalls } from "../../../domain/calls.ts";
import type { ChatMessage } from "../../../domain/chat-message.ts";
import { appendDocument } from "../../documents/writing.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { NotFoundError, UsageError } from "../exit-codes.ts";
import { findConversation, newConversation } from "../find.ts";
import { begunConversation, typedText } from "../typed-text.ts";

/** The author of a message, as chat APIs call it. */
export type AppendRole = "user" | "system" | "developer" | "assistant" | "tool";

type Options = {
  readonly as: AppendRole;
  readonly call?: string;
  readonly key?: string;
  readonly id?: string;
};

/** Appends one message by hand. */
export const append = commandCode({
  document: appendDocument,

  async *run(context, { arguments: [name = "", typed], options }: CommandInput<Options>) {
    checkOptions(name, options);
    const text = await typedText(context, typed);
    const isNewConversation = name === begunConversation;
    await using store = await context.openStore(isNewConversation ? "create" : "write");
    const conversation = isNewConversation
      ? await newConversation(store, options.id)
      : await findConversation(store, name);
    const { as, call } = options;
    const answered = as === "tool" ? await openCall(conversation, call ?? "") : null;
    const message: ChatMessage =
      as === "tool" ? { role: as, content: text, tool_call_id: answered?.callId ?? "" } : { role: as, content: text };
    const before = (await conversation.head())?.revision ?? -1;
    const { key } = options;
    const { blocks, isNew } = await conversation.append(message, {
      actor: { kind: "operator" },
      ...(key === undefined ? {} : { key }),
    });
    const [block] = blocks;
    if (block === undefined) throw new Error("the message was not stored as a block");
    const about = {
      conversation: conversation.id,
      blockId: idOf(block),
      kind: block.kind,
      key: key ?? null,
      isNewConversation,
    };
    const revision = isNew ? await revisionOf(conversation, before + 1, { block, settled: answered?.external }) : null;
    yield { ...about, revision, isPending: isNew && (await conversation.at(-1)).run !== null };
  },

  render({ conversation, revision, kind, key, isNewConversation, isPending }, { print }) {
    const what = kind === "tool_result" ? "result" : `${kind} message`;
    if (revision === null) {
      print(`nothing appended: ${conversation} already has a message with the key '${key}'`);
      return;
    }
    const where = isNewConversation ? `the new conversation ${conversation}` : `${conversation}@${revision}`;
    print(`${what} appended as ${where}${isPending ? ": it joins the Turn when the open run ends" : ""}`);
  },
});

function checkOptions(name: string, { as, call, id }: Options): void {
  if (id !== undefined && name !== begunConversation)
    throw new UsageError(`--id names a new conversation: write ${begunConversation} instead of '${name}'`);
  if (as === "tool" && call === undefined)
    throw new UsageError("--as tool answers a call: name it with --call ID, by its id or the name of its tool");
  if (as !== "tool" && call !== undefined) throw new UsageError(`--call cannot go with --as ${as}: give --as tool`);
}

/** A call that waits for an answer from outside the engine. */
type OpenCall = {
  readonly callId: string;
  /** The block of the call, if a run waits for it: its result is settled, and the run makes the block. */
  readonly external: string | null;
};

async function openCall(conversation: Conversation, name: string): Promise<OpenCall> {
  const { turn, run } = await (await conversation.at(-1)).load();
  const waiting = new Set(run?.waitingFor.flatMap(({ kind, blockId }) => (kind === "external" ? [blockId] : [])));
  const external = run?.calls.filter(({ id }) => id !== null && waiting.has(id)) ?? [];
  const calls = [...external, ...openCalls(turn.blocks)].map((block) => ({ block, callId: block.callId ?? "" }));
  const byId = calls.filter(({ block, callId }) => callId === name || block.id === name);
  const found = byId.length > 0 ? byId : calls.filter(({ block }) => block.name === name);
  const [only] = found;
  if (only !== undefined && found.length === 1) {
    const { block, callId } = only;
    return { callId, external: external.includes(block) ? block.id : null };
  }
  const named = (found.length > 1 ? found : calls).map(
    ({ block, callId }) => `${excerpt(block.name ?? "", 40)} (${callId})`,
  );
  if (found.length > 1) throw new UsageError(`'${name}' has several open calls: name one of ${named.join(", ")}`);
  const others = named.length === 0 ? "no call is open" : `open calls are ${named.join(", ")}`;
  throw new NotFoundError(`no open call of ${conversation.id} is called '${name}': ${others}`);
}

type Recorded = { readonly block: Block; readonly settled: string | null | undefined };

async function revisionOf(
  conversation: Conversation,
  from: number,
  { block, settled }: Recorded,
): Promise<number | null> {
  for await (const { event, revision } of conversation.events(from)) {
    if (event.type === "BlockAppended" && event.data.block.id === block.id) return revision;
    if (event.type === "ToolSettled" && event.data.blockId === settled) return revision;
  }
  return null;
}
