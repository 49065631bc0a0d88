import type * as z from "zod";
import { counted } from "../../../base/counted.ts";
import { ProviderError } from "../../../engine/ports/provider-error.ts";
import type { importedStored } from "../../documents/stores.ts";
import type { CliContext } from "../context.ts";
import { NotFoundError } from "../exit-codes.ts";
import { newConversationId } from "../find.ts";
import { loadEngine } from "../stack-file.ts";

type Imported = z.infer<typeof importedStored>;

/** An object that the server of a stack's engine stores. */
export type StoredThere = { readonly kind: "response" | "conversation"; readonly id: string };

/** Makes a conversation from a response that the server of a stack's engine stores, with those before it, or from a conversation object. */
export async function importStored(
  context: CliContext,
  source: StoredThere,
  { stack, id }: { readonly stack: string; readonly id: string | undefined },
): Promise<Imported> {
  const { provider } = (await loadEngine(stack, context.settings)).options;
  const options = { signal: context.signal, ...(id === undefined ? {} : { id: newConversationId(id) }) };
  await using store = await context.openStore("create");
  try {
    const { conversation, ...imported } = await (source.kind === "response"
      ? store.importResponse(provider, source.id, options)
      : store.importConversation(provider, source.id, options));
    const { responses, blocks, isWhole, lost, isNew } = imported;
    const told = { source: source.id, responses: [...responses], blocks, isWhole, lost: [...lost], isNew };
    return { id: conversation.id, ...told };
  } catch (error) {
    if (error instanceof ProviderError && error.status === 404)
      throw new NotFoundError(
        `the server of ${stack} has no ${source.kind === "response" ? "response" : "conversation object"} ${source.id}${goneWords[source.kind]}`,
        { cause: error },
      );
    throw error;
  }
}

const goneWords = {
  response: ": servers keep only stored responses, and for a limited time (30 days at OpenAI)",
  conversation: ", or the provider's key may not read it",
} as const;

/** What was imported, and what could not be. */
export function importedWords({ id, source, responses, blocks, isWhole, lost, isNew }: Imported): readonly string[] {
  const made = `${counted(blocks, "block")} of ${responses.length === 0 ? source : counted(responses.length, "response")}`;
  const last = responses.at(-1) ?? source;
  return [
    isNew ? `${id}  imported, ${made}` : `${id}  was imported before, ${made}`,
    isWhole
      ? `the next request continues from ${last}`
      : `the next request sends everything, because it cannot continue from ${last}`,
    "could not be recovered:",
    ...lost.map(({ message }) => `  ${message}`),
  ];
}
