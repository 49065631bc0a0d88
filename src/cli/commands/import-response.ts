import type * as z from "zod";
import { ProviderError } from "../../engine/stack/provider.ts";
import { counted } from "../../projections/wording.ts";
import type { CliContext } from "../context.ts";
import type { importedResponse } from "../documents/stores.ts";
import { NotFoundError } from "../exit-codes.ts";
import { newConversationId } from "../find.ts";
import { loadEngine } from "../stack-file.ts";

type Imported = z.infer<typeof importedResponse>;

/** Makes a conversation of a response that the server of a stack's engine stores, and of those before it. */
export async function importStored(
  context: CliContext,
  { response, stack, id }: { readonly response: string; readonly stack: string; readonly id: string | undefined },
): Promise<Imported> {
  const { provider } = (await loadEngine(stack)).options;
  const options = { signal: context.signal, ...(id === undefined ? {} : { id: newConversationId(id) }) };
  await using store = await context.openStore({ mustExist: false });
  try {
    const { conversation, ...imported } = await store.importResponse(provider, response, options);
    const { responses, blocks, isWhole, lost, isNew } = imported;
    return { id: conversation.id, responses: [...responses], blocks, isWhole, lost: [...lost], isNew };
  } catch (error) {
    if (error instanceof ProviderError && error.status === 404)
      throw new NotFoundError(
        `the server of ${stack} has no response ${response}: servers keep them for a time (30 days at OpenAI), and only those that were stored`,
        { cause: error },
      );
    throw error;
  }
}

/** What was had back, and what was not. */
export function importedWords({ id, responses, blocks, isWhole, lost, isNew }: Imported): readonly string[] {
  const made = `${counted(blocks, "block")} of ${counted(responses.length, "response")}`;
  const last = responses.at(-1) ?? "";
  return [
    isNew ? `${id}  imported, ${made}` : `${id}  was imported before, ${made}`,
    isWhole
      ? `the next request continues from ${last}`
      : `the next request sends everything: ${last} is not continued from`,
    "could not be had back:",
    ...lost.map(({ message }) => `  ${message}`),
  ];
}
