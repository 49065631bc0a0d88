import { expect, test } from "vitest";
import { user } from "../../src/domain/make-block.ts";
import type { Conversation } from "../../src/engine/conversation.ts";
import { createWorkshop, eventsOf } from "../support/workshop.ts";

/** What types refuse, and JavaScript and configuration files do not. */
test.each<[string, (conversation: Conversation) => Promise<unknown>, RegExp]>([
  ["a title that is no text", (its) => its.relabel({ title: 5 } as never), /Relabelled cannot be recorded: .*title/],
  ["nobody who could say it", (its) => its.append("a", { actor: { kind: "god" } as never }), /nobody is .*god/],
  ["a block of nothing", (its) => its.append(user([undefined as never])), /is no JSON: undefined/],
  ["a name that is no text", (its) => its.append("a", { actor: { kind: "user", name: 1 } as never }), /nobody is/],
])("records nothing that could not be read again: %s", async (_what, give, message) => {
  const { conversation } = createWorkshop();
  await conversation.append("hello");
  const before = await eventsOf(conversation);
  await expect((async () => give(conversation))()).rejects.toThrow(message);
  await conversation.append("and on");
  const after = await eventsOf(conversation);
  expect(after.slice(0, before.length)).toEqual(before);
  expect((await conversation.turn()).blocks.map(({ text }) => text)).toEqual(["hello", "and on"]);
});
