/**
 * A layer that answers from a store what was asked before, in any conversation, with the same Turn and settings.
 *
 * Run it from a checkout after `npm run build`: `node examples/answer-cache.ts`. It needs no key and no network. In a program, give a Keyv
 * (`new Keyv(new KeyvRedis("redis://…"))`) in the place of the Map, and a key from your secrets.
 */

import { randomBytes } from "node:crypto";
import { createEngine, openStore } from "turnlog";
import { cache } from "turnlog/layers";
import { scripted } from "turnlog/testing";

if (import.meta.main) {
  const store = new Map<string, string>();
  const cached = cache({ store, key: randomBytes(32).toString("hex"), ttl: 10 * 60_000 });
  const provider = scripted(["We are open from nine to five."]);
  const engine = createEngine({ provider, middleware: [cached] });

  await using log = await openStore("memory:");
  for (const visitor of ["first", "second"]) {
    const conversation = log.conversation();
    await conversation.append("When are you open?");
    const { text, steps } = await conversation.run(engine);
    console.log(`the ${visitor} visitor reads: ${text} (${steps.length} requests)`);
  }
  console.log("in the store:", [...store.keys()].map((key) => key.replace(/[0-9a-f]{64}/, "…")).join());
}
