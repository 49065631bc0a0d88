import { excerpt, inOneLine } from "../../../base/printable.ts";
import type { Conversation } from "../../../conversation/conversation.ts";
import type { ConversationLabels } from "../../../conversation/conversation-options.ts";
import { isHidden } from "../../../domain/decider/labels.ts";
import { relabelDocument } from "../../documents/writing.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { UsageError } from "../exit-codes.ts";
import { findConversation } from "../find.ts";

const actor = { kind: "operator" } as const;

type Told = {
  readonly conversation: string;
  readonly title: string | null;
  readonly labels: Readonly<Record<string, string>>;
};

/** Changes a conversation's title. */
export const rename = relabelling({
  work: (conversation, [title = ""]) => conversation.relabel({ title: titleOf(title) }, { actor }),
  said: ({ conversation, title }) => `${conversation} is called ${inOneLine(title ?? "")}`,
});

type LabelOptions = { readonly remove?: readonly string[] };

/** Sets and removes labels. */
export const label = relabelling<LabelOptions>({
  work: (conversation, names, { remove = [] }) =>
    conversation.relabel({ labels: changedLabels(names, remove) }, { actor }),
  said: ({ conversation, labels }) => {
    const all = Object.entries(labels).map(([name, value]) => excerpt(`${name}=${value}`, 80));
    return all.length === 0 ? `${conversation} has no labels` : `${conversation} has the labels ${all.join(", ")}`;
  },
});

/** Removes a conversation from the list; everything else keeps it. */
export const hide = relabelling({
  work: (conversation) => conversation.hide({ actor }),
  said: ({ conversation }) =>
    `${conversation} is hidden: \`turnlog ls --all\` lists it, \`turnlog unhide\` brings it back`,
});

export const unhide = relabelling({
  work: (conversation) => conversation.unhide({ actor }),
  said: ({ conversation }) => `${conversation} is listed`,
});

type Relabelling<Options> = {
  readonly work: (conversation: Conversation, rest: readonly string[], options: Options) => Promise<void>;
  readonly said: (told: Told) => string;
};

function relabelling<Options = unknown>({ work, said }: Relabelling<Options>) {
  return commandCode({
    document: relabelDocument,

    async *run(context, { arguments: [name = "", ...rest], options }: CommandInput<Options>) {
      await using store = await context.openStore("write");
      const conversation = await findConversation(store, name);
      const before = await conversation.head();
      await work(conversation, rest, options);
      const after = await conversation.head();
      const { title, labels } = (await (await conversation.at(-1)).load()).view;
      const revision = after === null || after.revision === before?.revision ? null : after.revision;
      yield { conversation: conversation.id, revision, title, labels, isHidden: isHidden(labels) };
    },

    render(told, { print }) {
      print(said(told));
    },
  });
}

function titleOf(text: string): string {
  if (text.trim() === "") throw new UsageError("the title is empty: give a title");
  return text;
}

function changedLabels(
  names: readonly string[],
  removed: readonly string[],
): NonNullable<ConversationLabels["labels"]> {
  const set = Object.fromEntries(names.map(labelOf));
  const both = removed.find((name) => Object.hasOwn(set, name));
  if (both !== undefined) throw new UsageError(`the label '${both}' is both set and removed: leave one of the two out`);
  return { ...set, ...Object.fromEntries(removed.map((name) => [name, null])) };
}

function labelOf(text: string): readonly [string, string] {
  const at = text.indexOf("=");
  if (at < 1) throw new UsageError(`'${text}' is not a label: write NAME=VALUE, such as user=ann`);
  return [text.slice(0, at), text.slice(at + 1)];
}
