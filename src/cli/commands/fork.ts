import { conversationIdSchema } from "../../domain/ids.ts";
import type { CommandHandler } from "../context.ts";
import { UsageError } from "../exit-codes.ts";
import { findConversation, findRevision } from "../find.ts";
import { placeName } from "../open-place.ts";
import { textOption } from "../options.ts";
import { lastRevision, parsePlace } from "../revision.ts";

/** A new conversation that goes on from a revision of another: prints its id. */
export const run: CommandHandler = async (context, { arguments: [text = ""], options }) => {
  const { conversation: name, at } = parsePlace(text);
  if (at.type === "range") throw new UsageError(`'${text}' is a range: name one revision`);
  const id = textOption(options, "id");
  const wanted = id === null ? null : conversationIdSchema.safeParse(id);
  if (wanted?.success === false) throw new UsageError(`'${id}' cannot be an id: ${wanted.error.issues[0]?.message}`);
  await using store = await context.openStore({ mustExist: true, isWritten: true });
  const parent = await findConversation(store, name);
  const revision = await findRevision(store, parent, at.type === "none" ? lastRevision : at.revision);
  const fork = await parent.fork(revision, {
    actor: { kind: "operator" },
    ...(wanted === null ? {} : { id: wanted.data }),
  });
  if (context.isJson) context.printJson({ conversation: fork.id, parent: parent.id, revision });
  else {
    context.print(fork.id);
    context.note(`fork of ${placeName(parent, revision)}`);
  }
};
