import { expect, onTestFinished, test } from "vitest";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { ErasingStore } from "../../../src/log/ports/event-store.ts";
import { unfinishedErasures } from "../../../src/log/system-streams/erasures.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";
import { turnlogHere } from "../../support/cli/command.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

/** Orders the erasure of a conversation in a process that dies before it erases anything. */
async function orderOf(events: ErasingStore, id: string): Promise<string> {
  const dying: ErasingStore = {
    ...events,
    erase: () => Promise.reject(new Error("the process died")),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const store = new TurnlogStore(dying);
  await store.conversation(id).append("to be forgotten");
  const plan = await store.planErasure({ conversations: [id] });
  const before = new Set((await unfinishedErasures(events)).map(({ orderId }) => orderId));
  await expect(store.erase(plan, { by: "dpo", ground: "gdpr-17" })).rejects.toThrow("the process died");
  const orders = (await unfinishedErasures(events)).map(({ orderId }) => orderId);
  return orders.find((orderId) => !before.has(orderId)) ?? "none";
}

test("to continue an unfinished order warns of the other orders, and not of this one", async () => {
  const { path: cwd, file } = temporaryFolder();
  const warnings: string[] = [];
  const listen = ({ message }: Error): void => void warnings.push(message);
  process.on("warning", listen);
  onTestFinished(() => void process.off("warning", listen));
  const events = await openSqliteStore(file("turnlog.db"));
  const [first, second] = [await orderOf(events, "one"), await orderOf(events, "two")];
  await events.close();
  const warned = async (...typed: readonly string[]) => {
    warnings.length = 0;
    const { code } = await turnlogHere(typed, { cwd });
    // Node emits warnings a turn of its event loop later.
    await new Promise(setImmediate);
    return [code, warnings.map((text) => /erasure (\S+) is unfinished/.exec(text)?.[1]).toSorted()];
  };
  expect(await warned("erase")).toEqual([0, [first, second].toSorted()]);
  expect(await warned("ls")).toEqual([0, [first, second].toSorted()]);
  expect(await warned("erase", "--resume", first)).toEqual([0, [second]]);
  expect(await warned("erase")).toEqual([0, [second]]);
  expect(await warned("erase", "--resume", second)).toEqual([0, []]);
});
