import { hostname } from "node:os";
import * as z from "zod";
import { commit } from "../../../src/conversation/commit.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import type { Engine } from "../../../src/engine/options/engine.ts";
import { externalTool, tool } from "../../../src/engine/ports/tool.ts";
import { type ScriptedAnswer, type ScriptedAnswerer, scripted } from "../../../src/providers/scripted/scripted.ts";
import { calling } from "../run/tool-runs.ts";

/** The ids of the conversations that wait, by why. */
export const waitingIds = {
  approval: "cnv_waits_approval",
  external: "cnv_waits_external",
  doubt: "cnv_waits_doubt",
  parked: "cnv_waits_parked",
  ready: "cnv_waits_ready",
  failed: "cnv_waits_failed",
  elsewhere: "cnv_waits_elsewhere",
} as const;

/** Answers by what the model reads: the last result, or that there is none. */
const saysResult: ScriptedAnswerer = ({ context }) => {
  const result = context.findLast(({ type }) => type === "function_call_output");
  return result === undefined ? "Sunny, 24 degrees." : `Done: ${JSON.stringify(result["output"])}`;
};

/** An agent that books, charges and asks where the user is; `did` has what its tools were called with. */
export function bookingAgent(script: readonly ScriptedAnswer[] | ScriptedAnswerer = saysResult) {
  const did: unknown[] = [];
  const began = Promise.withResolvers<undefined>();
  let charges = 0;
  const isScript = typeof script !== "function";
  const book = tool({
    name: "book",
    description: "Books a train.",
    inputSchema: z.object({ train: z.string(), day: z.string() }),
    needsApproval: { reason: "it spends 119 euros", expiresInMs: 600_000 },
    execute(input) {
      did.push(input);
      return "Booked. The code is K7Q2.";
    },
  });
  const charge = tool({
    name: "charge",
    description: "Takes money.",
    inputSchema: z.object({ euros: z.number() }),
    async execute({ euros }) {
      charges += 1;
      if (charges === 2) began.resolve(undefined);
      // While the store is recorded, its outcome stays unknown.
      if (isScript) await new Promise(() => undefined);
      did.push(euros);
      return `took ${euros} euros`;
    },
  });
  const locate = externalTool({ name: "locate", description: "Asks where the user is.", inputSchema: z.object({}) });
  const engine = createEngine({ provider: scripted(script), tools: [book, charge, locate] });
  return { did, engine, began: began.promise };
}

const bookCall = calling(["book", '{"train":"06:26","day":"Friday"}']);
const agentWith = (...script: readonly ScriptedAnswer[]): Engine => bookingAgent(script).engine;

/** Records conversations of which each waits for something else. */
export async function recordWaiting(address: string): Promise<void> {
  const charge = calling(["charge", '{"euros":5}']);
  const { engine, began } = bookingAgent([charge, charge]);
  const first = await openStore(address);
  const cut = [waitingIds.doubt, waitingIds.parked].map(async (id) => {
    const conversation = first.conversation(id);
    await conversation.append("Charge me.");
    await conversation.run(engine).catch((error: unknown) => error);
  });
  await began;
  await first.close({ graceMs: 0 });
  await Promise.all(cut);

  await using store = await openStore(address);
  await store.conversation(waitingIds.doubt).resume(bookingAgent([]).engine);
  const begin = async (id: string, text: string, agent: Engine): Promise<Conversation> => {
    const conversation = store.conversation(id);
    await conversation.append(text);
    await conversation.run(agent).catch((error: unknown) => error);
    return conversation;
  };
  await begin(waitingIds.external, "Where am I?", agentWith(calling(["locate", "{}"])));
  await begin(
    waitingIds.failed,
    "What is the weather?",
    agentWith({ error: { code: "invalid_prompt", message: "the model is overloaded" } }),
  );
  await approve(await begin(waitingIds.ready, "Book it.", agentWith(bookCall)));
  const elsewhere = await begin(waitingIds.elsewhere, "Book that.", agentWith(bookCall));
  await approve(elsewhere);
  await takeElsewhere(elsewhere);
  const journey = await begin(waitingIds.approval, "Yes, book the 06:26 on Friday.", agentWith(bookCall));
  await journey.relabel({ title: "A journey to Rome" });
}

async function approve(conversation: Conversation): Promise<void> {
  const { run } = await (await conversation.at(-1)).load();
  await conversation.approve(run?.waitingFor[0]?.blockId ?? "", { actor: { kind: "user", name: "ann" } });
}

/** A process of another machine resumes the run, and is not heard of again. */
async function takeElsewhere(conversation: Conversation): Promise<void> {
  const { run } = (await (await conversation.at(-1)).load()).view.client;
  if (run === null) throw new Error("no run is open");
  const owner = {
    ...{ processId: "prc_0123456789abcdef", bootId: "another boot", host: `not-${hostname()}`, pid: 4711 },
    ...{ startedAt: "2026-11-01T10:00:00.000Z", pidNamespace: "another namespace" },
  };
  const data = { epoch: run.epoch + 1, owner, stack: run.started.stack };
  await conversation[commit]([
    { event: { type: "RunResumed", version: 1, data }, actor: { kind: "recovery" }, runId: run.id },
  ]);
}
