import { tool } from "turnlog";
import * as z from "zod";

export const tools = [
  tool({
    name: "weather",
    description: "The weather of a city",
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => `${city}: sunny, 7 degrees`,
  }),
  tool({
    name: "refund",
    description: "Refunds an amount, in euros",
    inputSchema: z.object({ amount: z.number() }),
    needsApproval: ({ amount }) => (amount > 100 ? "refunds over 100 euros are checked" : false),
    execute: ({ amount }) => `refunded ${amount} euros`,
  }),
];
