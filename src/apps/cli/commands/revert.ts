import { counted } from "../../../base/counted.ts";
import type { Conversation } from "../../../conversation/conversation.ts";
import { idOf } from "../../../domain/block.ts";
import { revertDocument } from "../../documents/writing.ts";
import { placeName } from "../block-rows.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { UsageError } from "../exit-codes.ts";
import { findConversation, findPlace } from "../find.ts";
import { parsePlace } from "../revision.ts";

const actor = { kind: "operator" } as const;

type Options = { readonly exchange?: number };

/** Restores an earlier Turn; later events stay in the log. */
export const revert = commandCode({
  document: revertDocument,

  async *run(context, { arguments: [text = ""], options: { exchange } }: CommandInput<Options>) {
    const { at } = parsePlace(text);
    if ((at.type === "one") === (exchange !== undefined))
      throw new UsageError(
        `say where to go back to: a revision, ${text.split("@")[0] || "@last"}@24, or an exchange with --exchange 0`,
      );
    await using store = await context.openStore("write");
    const place = exchange === undefined ? await findPlace(store, text) : null;
    const conversation = place?.conversation ?? (await findConversation(store, text));
    await refuseOpenRun(conversation);
    const [head, before] = [await conversation.head(), await conversation.turn()];
    const turn =
      place === null
        ? await conversation.revertToExchange(exchange ?? 0, { actor })
        : await conversation.revertTo(place.revision, { actor });
    const after = await conversation.head();
    const kept = new Set(turn.blocks.map(idOf));
    yield {
      conversation: conversation.id,
      revision: after === null || after.revision === head?.revision ? null : after.revision,
      toRevision: place?.revision ?? null,
      exchange: exchange ?? null,
      ...{ blocks: turn.length, digest: turn.digest },
      removed: before.blocks.map(idOf).filter((id) => !kept.has(id)),
    };
  },

  render({ conversation, revision, toRevision, exchange, blocks, removed }, { print }) {
    const to = toRevision === null ? `the end of exchange ${exchange}` : placeName(conversation, toRevision);
    print(
      revision === null
        ? `nothing to do: the Turn of ${conversation} is already as at ${to}`
        : `${conversation} is back at ${to}: its Turn has ${counted(blocks, "block")}, ${counted(removed.length, "block")} left it`,
    );
  },
});

async function refuseOpenRun(conversation: Conversation): Promise<void> {
  const { run } = await conversation.at(-1);
  if (run === null) return;
  throw new UsageError(
    `run ${run.id} of ${conversation.id} is open: finish it with \`turnlog resume --stack FILE\`, or abandon it with --abandon, then revert`,
  );
}
