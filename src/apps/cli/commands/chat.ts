import { runDocument } from "../../documents/asking.ts";
import { askModel } from "../asking/ask-model.ts";
import { askPerson } from "../asking/ask-person.ts";
import { engineToAsk, personHere, withApprovals } from "../asking/engine-to-ask.ts";
import { createInterrupts, onSignals } from "../asking/interrupts.ts";
import { markShown, renderRun } from "../asking/render-run.ts";
import { linesOf, openTerminal } from "../asking/terminal.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { exitCodes, UsageError } from "../exit-codes.ts";
import { findConversation, newConversation } from "../find.ts";

type Options = { readonly stack?: string; readonly model?: string; readonly as?: string; readonly id?: string };

/** Asks a model line by line, until the input ends. */
export const chat = commandCode({
  document: runDocument,

  async *run(context, { arguments: [name], options }: CommandInput<Options>) {
    const { stack, model, as, id } = options;
    if (id !== undefined && name !== undefined)
      throw new UsageError(`--id names a new conversation: leave out '${name}'`);
    const made = await engineToAsk(context.settings, stack);
    await using store = await context.openStore(name === undefined ? "create" : "write");
    const conversation = name === undefined ? await newConversation(store, id) : await findConversation(store, name);
    const interrupts = createInterrupts(
      () => {
        context.note("ctrl-C again leaves, and so does ctrl-D");
      },
      () => process.exit(exitCodes.interrupted),
    );
    using _ = onSignals(interrupts);
    const { interrupt: onInterrupt } = interrupts;
    const { terminal: streams } = context;
    using terminal = streams === null ? null : openTerminal(streams, { prompt: "you> ", onInterrupt });
    using lines = terminal ?? linesOf(context.stdin);
    const actor = personHere(as);
    const engine = terminal === null ? made : withApprovals(made, askPerson(terminal, context, actor));
    const ask = async () =>
      markShown(await interrupts.during((signal) => askModel(context, { conversation, engine }, { signal, model })));
    context.note(
      `conversation ${conversation.id}${terminal === null ? "" : ": ctrl-C cancels an answer, ctrl-D leaves"}`,
    );
    // A run that was cut off goes on before anything else is said.
    let isDue = name !== undefined && (await conversation.at(-1)).run !== null;
    for (;;) {
      if (isDue) {
        const document = await ask();
        yield document;
        // The lines that follow were written for a conversation that went on.
        if (terminal === null && document.status !== "completed" && !interrupts.hasLeft()) return exitCodes.failure;
      }
      const line = interrupts.hasLeft() ? null : await Promise.race([lines.next(), interrupts.left]);
      if (line === null) return interrupts.hasLeft() ? exitCodes.interrupted : exitCodes.ok;
      isDue = line.trim() !== "";
      if (isDue) await conversation.append(line, { actor });
    }
  },

  render: renderRun,
});
