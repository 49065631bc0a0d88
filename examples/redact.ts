/**
 * A layer that hides what the model must not read: the user and the tools have the values, the model has placeholders.
 *
 * Run it from a checkout after `npm run build`: `node examples/redact.ts`. It needs no key and no network.
 */

import { createEngine, openStore, RunFailedError, tool } from "turnlog";
import { redact } from "turnlog/layers";
import { type ScriptedQuestion, scripted } from "turnlog/testing";
import * as z from "zod";

/** E-mail addresses and customer numbers are restored; a card's number is never sent, in no form. */
export const hiding = redact({
  detect: ["email", { kind: "customer", find: /\bC-\d{6}\b/ }, { kind: "card", strategy: "block" }],
});

const mail = tool({
  name: "mail",
  description: "Sends a mail.",
  inputSchema: z.object({ to: z.string() }),
  execute: ({ to }) => {
    console.log("the tool writes to:", to);
    return `sent to ${to}`;
  },
});

if (import.meta.main) {
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  const email = ({ context }: ScriptedQuestion): string => /\[email-\w+\]/.exec(JSON.stringify(context))?.[0] ?? "?";
  const provider = scripted([
    (asked) => ({ calls: [{ name: "mail", arguments: { to: email(asked) } }] }),
    (asked) => `I wrote to ${email(asked)}.`,
  ]);
  const engine = createEngine({ provider, tools: [mail], middleware: [hiding] });

  await conversation.append("I am ada@example.com, customer C-123456. Please confirm.");
  console.log("the user reads:", (await conversation.run(engine)).text);
  console.log("the model read:", JSON.stringify(provider.reading(0).at(-1)?.["content"]));

  await conversation.append("My card is 4111 1111 1111 1111.");
  try {
    await conversation.run(engine);
  } catch (error) {
    console.log(error instanceof RunFailedError ? `refused: ${error.kind}` : error);
  }
  console.log("requests that were sent:", provider.requests.length);
}
