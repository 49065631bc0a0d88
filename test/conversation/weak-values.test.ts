import { expect, test } from "vitest";
import { WeakValues } from "../../src/base/weak-values.ts";
import { TurnlogStore } from "../../src/conversation/turnlog-store.ts";
import type { Turn } from "../../src/domain/turn.ts";
import { createMemoryStore } from "../../src/stores/memory/store.ts";
import { collectGarbage } from "../support/collect-garbage.ts";

test("a value is shared as long as it is held, and made anew after that", async () => {
  const values = new WeakValues<string, object>();
  let made = 0;
  const make = (): object => {
    made += 1;
    return { number: made };
  };
  const held = values.get("held", make);
  const dropped = new WeakRef(values.get("dropped", make));
  expect(await collectGarbage(() => dropped.deref() === undefined)).toBe(true);
  expect(values.get("held", make)).toBe(held);
  expect(values.get("dropped", make)).toEqual({ number: 3 });
});

test("a store forgets conversations without references, and reads them again", async () => {
  const store = new TurnlogStore(createMemoryStore());
  const turns: WeakRef<Turn>[] = [];
  const say = async (id: string): Promise<void> => {
    const conversation = store.conversation(id);
    await conversation.append("hello");
    turns.push(new WeakRef(await conversation.turn()));
  };
  const held = store.conversation("cnv_held");
  await say("cnv_held");
  await say("cnv_dropped");
  const [kept, dropped] = turns;
  expect(await collectGarbage(() => dropped?.deref() === undefined)).toBe(true);
  expect(await held.turn()).toBe(kept?.deref());
  const again = await store.conversation("cnv_dropped").turn();
  expect(again.blocks.map(({ text }) => text)).toEqual(["hello"]);
});
