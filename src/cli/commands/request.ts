import { rebuildRequest } from "../../engine/planning/recorded-request.ts";
import { StoreCorruptedError } from "../../log/ports/event-store.ts";
import { printableJson } from "../../projections/wording.ts";
import { placeName } from "../block-rows.ts";
import { type CommandInput, commandCode } from "../command.ts";
import type { Screen } from "../context.ts";
import { requestDocument } from "../documents/requests.ts";
import { openRequest } from "../recorded-request.ts";
import { codecsOf } from "../stack-file.ts";

type Options = { readonly pretty?: boolean; readonly stack?: string };

/** The body of a request, byte for byte as it was sent. */
export const request = commandCode({
  document: requestDocument,

  async *run(context, { arguments: [place = ""], options }: CommandInput<Options>) {
    const codecs = await codecsOf(options.stack);
    await using store = await context.openStore({ mustExist: true });
    const { conversation, recorded, request: asked, view } = await openRequest(store, place, codecs);
    const { id } = conversation;
    const { revision } = recorded;
    const { bodyText, digest } = rebuildRequest(view, recorded, codecs);
    if (digest !== asked.requestDigest)
      throw new StoreCorruptedError(
        `the body of ${placeName(id, revision)} cannot be rebuilt: \`turnlog verify\` says where the damage begins`,
      );
    const { inferenceId, decision, encoder, requestBytes: bytes } = asked;
    const { transport } = decision;
    yield { conversation: id, revision, inferenceId, transport, encoder, sha256: digest, bytes, bodyText };
  },

  render({ bodyText }, screen, { options: { pretty = false } }: CommandInput<Options>) {
    if (pretty) screen.print(printableJson(JSON.stringify(JSON.parse(bodyText), null, 2)));
    else printBody(bodyText, screen);
  },
});

export function printBody(bodyText: string, { isTerminal, print, write }: Screen): void {
  // A terminal would obey what is in it, and a prompt on the same line helps nobody; a pipe gets the very bytes.
  if (isTerminal) print(printableJson(bodyText));
  else write(bodyText);
}
