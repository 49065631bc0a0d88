import { onTestFinished } from "vitest";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { type Aside, startAside } from "../process.ts";
import { opened, startServer } from "../stores/eventstoredb-opened.ts";

/** What this process waits for: long enough for a machine that has much to do, or not at all. */
export const [patient, hasty] = [60_000, 300].map((deadAfterMs) => ({ renewMs: 20, deadAfterMs, lookMs: 20 }));

export const answering = () => createEngine({ provider: scripted(["an answer"]) });

/** A conversation whose run goes on in a process of another machine. */
export async function leased(pace: typeof patient, mode: "wait" | "block" = "wait") {
  const server = await startServer();
  const events = await opened(server.connectionString, pace === undefined ? {} : { pace });
  const store = new TurnlogStore(events);
  const conversation = store.conversation("cnv_leased");
  await conversation.append("hello");
  const owner = startAside("run/leasing-process.ts", [server.connectionString, conversation.id, mode]);
  onTestFinished(() => owner.kill());
  await owner.readTo(/^began/);
  return { server, store, conversation, owner };
}

/** The first line that matches, of what the owner still says. */
export const lastOf = async (owner: Aside, line: RegExp): Promise<string | undefined> =>
  (await owner.readTo(line)).at(-1);
