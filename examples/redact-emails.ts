/**
 * A layer that hides addresses: the user reads e-mail addresses, the model never does, and every request is still chained.
 *
 * The layer keeps no state: it derives the name of each address from the conversation's own blocks. So one engine serves many
 * users, and no user reads an address that only another one has written.
 *
 * Run it from a checkout after `npm run build`: `node examples/redact-emails.ts`. It needs no key and no network.
 */

import { type Block, createEngine, type JsonObject, lens, openStore } from "turnlog";
import { scripted } from "turnlog/testing";

const address = /[\w.+-]+@[\w-]+(\.[\w-]+)+/g;

/** Replaces every e-mail address with a name: the n-th address of the conversation is `<email-n>`. */
export const redactEmails = () =>
  lens({
    name: "redact-emails",
    version: "2.0.0",
    hide(block, { before }) {
      if (addressesIn([block]).length === 0) return block;
      const known = addressesIn([...before, block]);
      return rewrite(block, (text) => text.replace(address, (found) => `<email-${known.indexOf(found) + 1}>`));
    },
    restore(block, { before }) {
      const known = addressesIn(before);
      return rewrite(block, (text) => text.replace(/<email-(\d+)>/g, (name, n) => known[Number(n) - 1] ?? name));
    },
  });

/** The addresses in these blocks, in order of their first occurrence. */
function addressesIn(blocks: readonly Block[]): readonly string[] {
  const found = new Set<string>();
  for (const block of blocks)
    rewrite(block, (text) => {
      for (const each of text.match(address) ?? []) found.add(each);
      return text;
    });
  return [...found];
}

/** Changes every text in a block. Returns the same block if nothing changed, so that nothing counts as hidden. */
function rewrite(block: Block, change: (text: string) => string): Block {
  const before = JSON.stringify(block.payload);
  const changed: unknown = JSON.parse(before, (_, value: unknown) =>
    typeof value === "string" ? change(value) : value,
  );
  // Changing strings in JSON leaves it JSON.
  const payload = changed as JsonObject;
  return JSON.stringify(payload) === before ? block : block.withPayload(payload);
}

if (import.meta.main) {
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  const provider = scripted(["I shall write to <email-1>.", "Yes: to <email-1>, not to <email-2>."]);
  const engine = createEngine({ provider, middleware: [redactEmails()] });

  await conversation.append("Write to ada@example.com.");
  console.log("the user reads: ", (await conversation.run(engine)).text);
  await conversation.append("Not to bob@example.com?");
  const { text, steps } = await conversation.run(engine);
  console.log("the user reads: ", text);
  console.log("the model reads:", JSON.stringify(provider.reading(1).map(({ content }) => content)));
  console.log("the request was:", steps[0]?.decision.strategy);
}
