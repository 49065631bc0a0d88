/**
 * A redaction layer: the model never reads an e-mail address, the user does, and every request is chained all the same.
 *
 * Run it from a checkout: `node examples/redact-emails.ts`. It needs no key and no network.
 */

import { scripted } from "../src/entries/testing.ts";
import { type Block, createEngine, type JsonObject, lens, openStore } from "../src/index.ts";

/** Puts a name for it in the place of every e-mail address: the same one for the same address. */
export const redactEmails = () => {
  const addressByName = new Map<string, string>();
  const nameByAddress = new Map<string, string>();

  function nameOf(address: string): string {
    const name = nameByAddress.get(address) ?? `<email-${nameByAddress.size + 1}>`;
    nameByAddress.set(address, name);
    addressByName.set(name, address);
    return name;
  }

  return lens({
    name: "redact-emails",
    version: "1.0.0",
    hide: (block) => rewrite(block, (text) => text.replace(/[\w.+-]+@[\w-]+(\.[\w-]+)+/g, nameOf)),
    restore: (block) =>
      rewrite(block, (text) => text.replace(/<email-\d+>/g, (name) => addressByName.get(name) ?? name)),
  });
};

/** The block with every text in it changed, or the very block where nothing is: nothing is hidden then. */
function rewrite(block: Block, change: (text: string) => string): Block {
  const before = JSON.stringify(block.payload);
  const changed: unknown = JSON.parse(before, (_, value: unknown) =>
    typeof value === "string" ? change(value) : value,
  );
  // JSON in which texts were changed is JSON still.
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
