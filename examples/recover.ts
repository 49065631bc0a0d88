/**
 * An answer in place of an error: the provider is down, the user reads a sentence, and the run completes.
 *
 * Run it from a checkout after `npm run build`: `node examples/recover.ts`. It needs no key and no network.
 */

import { createEngine, openStore, ProviderError } from "turnlog";
import { recover } from "turnlog/layers";
import { scripted } from "turnlog/testing";

/** Answers for a provider that failed; any other error ends the run as before. */
export const apologise = recover({
  name: "apologise",
  answer: (error) => (error instanceof ProviderError ? "I cannot answer at the moment. Please try again later." : null),
});

if (import.meta.main) {
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  const down = { error: { status: 500, message: "the server is down" } };
  const engine = createEngine({
    provider: scripted([down, "It is sunny."]),
    middleware: [apologise],
    retry: { maxRetries: 0 },
  });
  for (const said of ["What is the weather?", "And now?"]) {
    await conversation.append(said);
    const { status, text } = await conversation.run(engine);
    console.log(`${status}: ${text}`);
  }
}
