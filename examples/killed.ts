/**
 * A program that is killed in the middle of a payment, and another that resumes its run: it pays nothing twice, and does not ask the
 * model again for what it has answered.
 *
 * Run it from a checkout after `npm run build`: `node examples/killed.ts`. It starts itself as the program that dies. It needs no key and no network.
 */
import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createEngine, openStore, tool } from "turnlog";
import { scripted } from "turnlog/testing";
import * as z from "zod";

/** The bank's ledger: a line for each payment, by its key. */
const ledger = "payments.txt";
const payments = (): readonly string[] => (existsSync(ledger) ? readFileSync(ledger, "utf8").trim().split("\n") : []);
const isToDie = process.argv[2] === "die";

const pay = tool({
  name: "pay",
  description: "Pays an invoice",
  inputSchema: z.object({ invoice: z.string() }),
  execute({ invoice }, { idempotencyKey }) {
    appendFileSync(ledger, `${idempotencyKey}\n`);
    if (isToDie) process.kill(process.pid, "SIGKILL");
    return `paid ${invoice}`;
  },
});
let asked = 0;
const provider = scripted(({ context }) => {
  asked += 1;
  const isPaid = context.some(({ type }) => type === "function_call_output");
  return isPaid ? "Invoice 2026-117 is paid." : { calls: [{ name: "pay", arguments: { invoice: "2026-117" } }] };
});
const engine = createEngine({
  provider,
  tools: [pay],
  onInDoubt: ({ idempotencyKey }) =>
    payments().includes(idempotencyKey) ? { how: "result", output: "paid, as the bank confirms" } : { how: "rerun" },
});

await using store = await openStore("sqlite:./killed.db");
const conversation = store.conversation("invoices");
await conversation.append("Pay invoice 2026-117.", { key: "message-1" });
if (!isToDie) {
  const { signal } = spawnSync(process.execPath, [import.meta.filename, "die"]);
  console.log(`the first program ended by ${signal}, with ${payments().length} payment`);
}
const result = await conversation.run(engine, { key: "message-1" });
console.log(`${result.text} (${payments().length} payment, this program asked the model ${asked} time)`);
