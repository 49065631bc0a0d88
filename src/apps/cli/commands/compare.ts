import { blockLabel } from "../../../analysis/descriptions/labels.ts";
import { compareConversations } from "../../../analysis/time-travel/compare.ts";
import { counted } from "../../../base/counted.ts";
import { excerpt } from "../../../base/printable.ts";
import { blockFromJson } from "../../../domain/block-json.ts";
import { conversationOfStream, conversationStream } from "../../../domain/ids.ts";
import { compareDocument } from "../../documents/differences.ts";
import { blockDocument } from "../../documents/turn-documents.ts";
import { changeWords, placeName } from "../block-rows.ts";
import { commandCode } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { openPlace } from "../find.ts";

/** Where two conversations diverge; exits with 1 if their Turns do. */
export const compare = commandCode({
  document: compareDocument,

  async *run(context, { arguments: [leftName = "", rightName = ""] }) {
    await using store = await context.openStore("read");
    const both = { left: await openPlace(store, leftName), right: await openPlace(store, rightName) };
    const parting = await compareConversations(store.log, both.left.past, both.right.past);
    const { event, blocks } = parting;
    const side = (name: "left" | "right") => {
      const { conversation, past } = both[name];
      const departure = parting[name];
      return {
        conversation: conversation.id,
        revision: past.revision,
        digest: past.turn.digest,
        block: departure === null ? null : blockDocument(departure.block, blocks),
        change: departure?.change ?? null,
      };
    };
    yield { event, blocks, left: side("left"), right: side("right") };
    return parting.left === null && parting.right === null ? exitCodes.ok : exitCodes.failure;
  },

  render({ event, blocks, left, right }, { style, print, table }) {
    const of = event === null ? null : placeName(conversationOfStream(event.stream) ?? event.stream, event.revision);
    print(
      style.bold(of === null ? "they share no event" : `both continue from ${of}`),
      blocks === 0 ? "their Turns differ from the first block on" : `their first ${counted(blocks, "block")} are equal`,
    );
    if (left.block === null && right.block === null) return;
    table(
      [left, right].map(({ conversation, revision, block: json, change }) => {
        const place = { text: placeName(conversation, revision), style: style.bold };
        if (json === null) return [place, { text: "ends there", style: style.dim }];
        const block = blockFromJson(json);
        const who = change === null ? "" : changeWords(change, conversationStream(conversation));
        return [place, blockLabel(block), { text: who, style: style.dim }, excerpt(block.text, 160)];
      }),
    );
  },
});
