import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { createEngine } from "../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../src/engine/ports/middleware.ts";
import { copyConversations } from "../src/operations/transfer/copy.ts";
import { scripted } from "../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../src/stores/memory/store.ts";
import { chat, textOf } from "./sample.ts";

/** The conversations of the long list: so many of them are forks of one another, and in so many the last run failed. */
const listSizes = { conversations: 10_000, forks: 300, failed: 100 } as const;

/** Copies a conversation of about so many events into a store: messages of 300 bytes, answers, and a layer that changes every tenth message. */
export async function fillConversation(store: TurnlogStore, events: number): Promise<string> {
  await using memory = new TurnlogStore(createMemoryStore());
  const conversation = memory.conversation();
  // An exchange has five events, and six if the layer changes the message.
  await chat(conversation, { exchanges: Math.ceil(events / 5.1), bytes: 300, middleware: [sign] });
  await copyConversations(memory, store, { conversations: [conversation.id] });
  return conversation.id;
}

/** Changes one of ten messages before it is sent for the first time, so that blame and differences have something to say. */
const sign = defineMiddleware({ name: "sign", version: "1.0.0" }, (next) => (turn) => {
  const { last } = turn;
  const isWanted = last?.kind === "user" && turn.length % 20 === 1;
  return next(isWanted ? turn.replace(last, last.withText(`${last.text}\n(signed)`)) : turn);
});

/** Fills a store with many short conversations; the first one is forked, and the newest ones are the failed ones. Returns the first one. */
export async function fillList(store: TurnlogStore): Promise<string> {
  const { conversations, forks, failed } = listSizes;
  const writers = 200;
  const plain = conversations - forks;
  for (let first = 0; first < plain; first += writers)
    await Promise.all(
      Array.from({ length: Math.min(writers, plain - first) }, (_, n) =>
        store.conversation(`cnv_${first + n}`).append("A message"),
      ),
    );
  const root = store.conversation("cnv_0");
  await chat(root, { exchanges: 4, bytes: 300 });
  for (let n = 0; n < forks; n += 1) await root.fork(n % 20);
  const engine = createEngine({
    provider: scripted(() => ({ error: { status: 400, message: "the model is not there" } })),
  });
  for (let n = 0; n < failed; n += 1) {
    const conversation = store.conversation(`cnv_${n + 1}`);
    await conversation.append(textOf(100, n));
    // The failure is recorded, and thrown as well.
    await conversation.run(engine).catch(() => undefined);
  }
  return root.id;
}
