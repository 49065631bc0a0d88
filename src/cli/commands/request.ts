import { rebuildRequest } from "../../engine/planning/recorded-request.ts";
import { StoreCorruptedError } from "../../log/ports/event-store.ts";
import { printableJson } from "../../projections/wording.ts";
import { codecs } from "../../providers/codecs.ts";
import type { CommandHandler } from "../context.ts";
import { placeName } from "../open-place.ts";
import { flag } from "../options.ts";
import { openRequest } from "../recorded-request.ts";

/** The body of a request, byte for byte as it was sent. */
export const run: CommandHandler = async (context, { arguments: [text = ""], options }) => {
  await using store = await context.openStore({ mustExist: true });
  const { conversation, recorded, request, view } = await openRequest(store, text);
  const { bodyText, digest } = rebuildRequest(view, recorded, codecs);
  if (digest !== request.requestDigest) {
    const place = placeName(conversation, recorded.revision);
    throw new StoreCorruptedError(
      `the body of ${place} cannot be rebuilt: \`turnlog verify\` says where the damage begins`,
    );
  }
  if (context.isJson) {
    const { inferenceId, requestBytes, transport, encoder } = request;
    const about = { conversation: conversation.id, revision: recorded.revision, inferenceId, transport, encoder };
    context.printJson({ ...about, sha256: digest, bytes: requestBytes, bodyText });
  } else if (flag(options, "pretty")) {
    context.print(printableJson(JSON.stringify(JSON.parse(bodyText), null, 2)));
  } else if (context.isTerminal) {
    // A terminal would obey what is in it, and a prompt on the same line helps nobody; a pipe gets the very bytes.
    context.print(printableJson(bodyText));
  } else {
    context.write(bodyText);
  }
};
