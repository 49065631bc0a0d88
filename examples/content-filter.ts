/**
 * A layer that checks what goes to the model and what comes from it, here with a list of words: replace the check by a call of a moderation service.
 *
 * Run it from a checkout after `npm run build`: `node examples/content-filter.ts`. It needs no key and no network.
 */

import { createEngine, openStore } from "turnlog";
import { contentFilter, recover } from "turnlog/layers";
import { scripted } from "turnlog/testing";

const words = ["lottery", "casino"];

/** Takes advertising out of answers. */
const noAdvertising = contentFilter({
  name: "no-advertising",
  direction: "after",
  action: "redact",
  replacement: "…",
  check(text) {
    const values = words.filter((word) => text.includes(word));
    return values.length === 0 ? null : { reason: "advertising", values };
  },
});
/** Refuses messages with a password; a service would be asked with `outside: true`. */
const noPasswords = contentFilter({
  name: "no-passwords",
  direction: "before",
  outside: true,
  check: async (text) => (text.includes("password") ? "it has a password" : null),
});

if (import.meta.main) {
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  const provider = scripted(["Buy bread. Or try the casino."]);
  const middleware = [recover({ answer: "I cannot talk about that." }), noPasswords, noAdvertising];
  const engine = createEngine({ provider, middleware });
  for (const said of ["What shall I buy?", "My password is 1234."]) {
    await conversation.append(said);
    console.log(`${said} → ${(await conversation.run(engine)).text}`);
  }
  console.log("requests that were sent:", provider.requests.length);
}
