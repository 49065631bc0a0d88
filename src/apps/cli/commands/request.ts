import { printableJson } from "../../../base/printable.ts";
import { sentRequest } from "../../../engine/recorded/recorded-request.ts";
import { requestDocument } from "../../documents/requests.ts";
import { type CommandInput, commandCode } from "../command.ts";
import type { Screen } from "../context.ts";
import { findRecordedRequest } from "../find.ts";
import { codecsOf } from "../stack-file.ts";

type Options = { readonly pretty?: boolean; readonly stack?: string };

/** The body of a request, byte for byte as it was sent. */
export const request = commandCode({
  document: requestDocument,

  async *run(context, { arguments: [place = ""], options }: CommandInput<Options>) {
    const codecs = await codecsOf(options.stack, context.settings);
    await using store = await context.openStore("read");
    const { conversation, request: found } = await findRecordedRequest(store, place, { codecs, orBefore: false });
    yield { conversation: conversation.id, ...sentRequest(found.view, found.recorded, codecs) };
  },

  render({ bodyText }, screen, { options: { pretty = false } }: CommandInput<Options>) {
    if (pretty) screen.print(printableJson(JSON.stringify(JSON.parse(bodyText), null, 2)));
    else printBody(bodyText, screen);
  },
});

export function printBody(bodyText: string, { isTerminal, print, write }: Screen): void {
  // A terminal would obey control characters, and needs a line feed before the prompt; a pipe gets the exact bytes.
  if (isTerminal) print(printableJson(bodyText));
  else write(bodyText);
}
