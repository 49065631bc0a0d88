import { readFile } from "node:fs/promises";
import { type JsonValue, parseJson } from "../../../base/json.ts";
import type { Conversation } from "../../../conversation/conversation.ts";
import type { Actor } from "../../../domain/actor.ts";
import type { Decided } from "../../../engine/run/decide-call.ts";
import { decisionDocument } from "../../documents/running.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { UsageError } from "../exit-codes.ts";
import { findConversation } from "../find.ts";
import { waitingLines } from "../waiting-lines.ts";

type Options = { readonly as: string; readonly message?: string; readonly input?: string };

/** Lets a call begin that waits for approval. */
export const approve = deciding("approve", async (conversation, call, { said, input }) =>
  conversation.approve(call, { ...said, ...(input === undefined ? {} : { input }) }),
);

/** Refuses a call that waits for approval. */
export const deny = deciding("deny", async (conversation, call, { said }) => conversation.deny(call, said));

type Said = {
  readonly said: { readonly actor: Actor; readonly message?: string };
  readonly input: JsonValue | undefined;
};

function deciding(
  how: "approve" | "deny",
  decide: (conversation: Conversation, call: string, said: Said) => Promise<Decided>,
) {
  return commandCode({
    document: decisionDocument,

    async *run(context, { arguments: [name = "", call = ""], options }: CommandInput<Options>) {
      const { as, message, input: file } = options;
      const input = file === undefined ? undefined : await inputIn(file);
      await using store = await context.openStore("write");
      const conversation = await findConversation(store, name);
      const actor = { kind: "operator", name: as } as const;
      const said = { actor, ...(message === undefined ? {} : { message }) };
      const { isNew } = await decide(conversation, call, { said, input });
      const { run } = await (await conversation.at(-1)).load();
      yield {
        ...{ conversation: conversation.id, call, how: input === undefined ? how : ("edit" as const), isNew },
        waitingFor: run?.waitingFor ?? [],
      };
    },

    render({ conversation, call, how, isNew, waitingFor }, screen) {
      const { style, print, note, commandName } = screen;
      print(`${style.bold(call)}  ${words[how]}${isNew ? "" : ", as it was before"}`);
      for (const waiting of waitingFor) for (const line of waitingLines(conversation, waiting, screen)) print(line);
      if (waitingFor.length === 0)
        note(
          `\`${commandName} run ${conversation}\` goes on with it; --stack names another engine than the configuration's`,
        );
    },
  });
}

const words = { approve: "approved", edit: "approved with other arguments", deny: "denied" } as const;

async function inputIn(file: string): Promise<JsonValue> {
  const text = await readFile(file, "utf8");
  try {
    return parseJson(text);
  } catch (cause) {
    throw new UsageError(`${file} is not JSON: give all arguments of the call, as its tool takes them`, { cause });
  }
}
