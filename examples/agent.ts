/**
 * An agent with three tools and two layers, for a web handler. If a client posts a message twice, the agent answers it once and
 * orders nothing twice.
 *
 * Run it from a checkout after `npm run build`: `node examples/agent.ts`. It needs no key and no network. For a real model, replace
 * `scripted(…)` with `openaiResponses({ model: "gpt-5.4" })`.
 */

import { createEngine, defineMiddleware, openStore, tool } from "turnlog";
import { scripted } from "turnlog/testing";
import * as z from "zod";

const stock = new Map([
  ["tea", { left: 3, notes: "Green, from Uji; harvested in May. Keeps for a year when it is kept dry and dark." }],
  ["coffee", { left: 0, notes: "Roasted on Mondays. The next delivery is due on the first day of next month." }],
]);
const ordered: string[] = [];

const lookUp = tool({
  name: "look_up",
  description: "How many of an item are left, with notes about it",
  inputSchema: z.object({ item: z.string() }),
  execute: ({ item }) => stock.get(item) ?? { left: 0 },
});
const order = tool({
  name: "order",
  description: "Orders an item",
  inputSchema: z.object({ item: z.string(), count: z.int().positive() }),
  execute({ item, count }) {
    ordered.push(`${count} ${item}`);
    return `ordered ${count} ${item}`;
  },
});
const tellTeam = tool({
  name: "tell_team",
  description: "Sends the team a message",
  inputSchema: z.object({ message: z.string() }),
  execute: ({ message }) => `sent: ${message}`,
});

/** Instructions are outside the server's context, so they cost no chain. */
const polite = defineMiddleware({ name: "polite", version: "1.0.0" }, (next) => (turn, ctx) => {
  ctx.instructions("Be polite, and brief.");
  return next(turn);
});
/** Shortens results when they come, so that the server never gets the long form. */
const shorten = defineMiddleware({ name: "shorten-results", version: "1.0.0" }, (next) => (turn) => {
  const long = turn.blocks.filter(({ kind, text }) => kind === "tool_result" && text.length > 60);
  return next(turn.replaceEach(long, (block) => block.withText(`${block.text.slice(0, 60)}…`)));
});

const provider = scripted([
  { calls: [{ name: "look_up", arguments: { item: "coffee" } }] },
  {
    calls: [
      { name: "order", arguments: { item: "tea", count: 2 } },
      { name: "tell_team", arguments: { message: "We are out of coffee." } },
    ],
  },
  "There is no coffee left, so I ordered two teas.",
]);
const engine = createEngine({ provider, tools: [lookUp, order, tellTeam], middleware: [polite, shorten] });
await using store = await openStore("sqlite:./agent.db");

async function post(id: string, message: { readonly key: string; readonly text: string }): Promise<string> {
  const conversation = store.conversation(id);
  await conversation.append(message.text, { key: message.key });
  const result = await conversation.run(engine, { key: message.key });
  console.log(result.isNew ? "asked the model:" : "answered before:", result.steps.map(strategyOf).join(", "));
  return result.text;
}
const strategyOf = ({ decision }: { readonly decision: { readonly strategy: string } }): string => decision.strategy;

const message = { key: "message-1", text: "Two coffees, please." };
console.log(await post("table-4", message));
console.log(await post("table-4", message));
console.log(`ordered: ${ordered.join(", ")}`);
