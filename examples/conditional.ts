/**
 * A layer for some calls only: long conversations get a reminder, short ones do not, and guests of the caller's program get another.
 *
 * Run it from a checkout after `npm run build`: `node examples/conditional.ts`. It needs no key and no network.
 */

import { createEngine, defineMiddleware, openStore } from "turnlog";
import { conditional } from "turnlog/layers";
import { scripted } from "turnlog/testing";

type Caller = { readonly isGuest: boolean };

const reminding = (text: string) =>
  defineMiddleware<Caller>({ name: `remind-${text.length}`, version: "1.0.0" }, (next) => (turn, ctx) => {
    ctx.instructions(text);
    return next(turn);
  });

const longTalks = conditional<Caller>({
  name: "long-talks",
  version: "1.0.0",
  when: (turn) => turn.length > 2,
  layer: reminding("Be brief."),
});
const guests = conditional<Caller>({
  name: "guests",
  version: "1.0.0",
  // The context is not in the log. The effect records what the condition takes from it.
  when: (_, ctx) => ctx.effect("is a guest", () => ctx.context.isGuest),
  layer: reminding("Offer an account."),
  otherwise: reminding("Greet by name."),
});

if (import.meta.main) {
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  const provider = scripted(["Hello.", "Sunny."]);
  const engine = createEngine<Caller>({ provider, middleware: [longTalks, guests] });
  for (const [said, isGuest] of [["Hi.", true] as const, ["What is the weather?", false] as const]) {
    await conversation.append(said);
    await conversation.run(engine, { context: { isGuest } });
  }
  for (const { instructions } of provider.requests) console.log("the model was told:", instructions);
}
