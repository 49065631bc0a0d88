import { runDocument } from "../../documents/asking.ts";
import { askModel } from "../asking/ask-model.ts";
import { askPerson } from "../asking/ask-person.ts";
import { engineToAsk, personHere, withApprovals } from "../asking/engine-to-ask.ts";
import { markShown, renderRun } from "../asking/render-run.ts";
import { openTerminal, type Terminal } from "../asking/terminal.ts";
import { type CommandInput, commandCode } from "../command.ts";
import type { CliContext } from "../context.ts";
import { exitCodes, UsageError } from "../exit-codes.ts";
import { findConversation, newConversation } from "../find.ts";
import { begunConversation, typedText } from "../typed-text.ts";

type Options = {
  readonly stack?: string;
  readonly model?: string;
  readonly as?: string;
  readonly key?: string;
  readonly id?: string;
};

/** Appends a message, and has a model answer what is unanswered. */
export const run = commandCode({
  document: runDocument,

  async *run(context, { arguments: [name = "", typed], options }: CommandInput<Options>) {
    const { stack, model, as, key, id } = options;
    const isNew = name === begunConversation;
    if (id !== undefined && !isNew)
      throw new UsageError(`--id names a new conversation: write ${begunConversation} instead of '${name}'`);
    if (key !== undefined && typed === undefined) throw new UsageError("--key names a message: give one");
    const text = typed === undefined && !isNew ? null : await typedText(context, typed);
    const engine = await engineToAsk(context.settings, stack);
    await using store = await context.openStore(isNew ? "create" : "write");
    const conversation = isNew ? await newConversation(store, id) : await findConversation(store, name);
    const actor = personHere(as);
    if (text !== null) await conversation.append(text, { actor, ...(key === undefined ? {} : { key }) });
    if (isNew) context.note(`conversation ${conversation.id}`);
    const left = new AbortController();
    using terminal = terminalOnDemand(context, () => {
      left.abort(new Error("cancelled at the terminal"));
    });
    const asked = terminal === null ? engine : withApprovals(engine, askPerson(terminal, context, actor));
    const signal = AbortSignal.any([context.signal, left.signal]);
    const document = await askModel(context, { conversation, engine: asked }, { signal, model, key });
    yield markShown(document);
    if (document.status === "cancelled" && signal.aborted) return exitCodes.interrupted;
    return document.status === "completed" ? exitCodes.ok : exitCodes.failure;
  },

  render: renderRun,
});

/** Opens the terminal for the first question only, because an open one takes the keys. */
function terminalOnDemand(
  { terminal: streams }: CliContext,
  onInterrupt: () => void,
): (Pick<Terminal, "ask"> & Disposable) | null {
  if (streams === null) return null;
  let opened: Terminal | null = null;
  return {
    ask(...question) {
      opened ??= openTerminal(streams, { prompt: "", onInterrupt });
      return opened.ask(...question);
    },
    [Symbol.dispose]: () => opened?.[Symbol.dispose](),
  };
}
