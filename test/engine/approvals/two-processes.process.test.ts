import { afterAll, beforeAll, expect, test } from "vitest";
import {
  functionCall,
  type ReferenceServer,
  type ScriptedItem,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import { isTelling, seeds } from "../../support/cases.ts";
import { startAside } from "../../support/process.ts";
import { ApprovalActor, type Deed, deedsOf } from "../../support/run/approval-actor.ts";
import type { Orders } from "../../support/run/approval-process.ts";
import { faultsIn } from "../../support/run/approval-record.ts";
import { approvalModel } from "../../support/run/approval-world.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

/** Each drawn with another process, which is killed. */
const worlds = seeds(1, 60, 4);

let server: ReferenceServer;
beforeAll(async () => {
  server = await startReferenceServer({
    seed: "two processes",
    // What the model calls follows from what it reads, and from the conversation.
    answer(input) {
      const { items } = input.reading;
      const seed = Number(/seed (\d+)/.exec(JSON.stringify(items[0]))?.[1]);
      return items.length === 1 ? { output: firstCalls(seed) } : approvalModel(seed)(input);
    },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

/** Calls that wait, in every conversation. */
const firstCalls = (seed: number): readonly ScriptedItem[] => [
  functionCall("refund", `{"amount":${seed % 3 === 0 ? 80 : 60}}`, { callId: "call_1" }),
  ...(seed % 2 === 0 ? [functionCall("refund", '{"amount":70}', { callId: "call_2" })] : []),
  ...(seed % 4 === 1 ? [functionCall("locate", "{}", { callId: "call_3" })] : []),
];

type Action = Orders["jobs"][number]["actions"][number];

/** What the test and the other process do with a conversation at the same time: the one waits, both race, or the other dies. */
const roles: readonly { readonly here: readonly Action[]; readonly there: readonly Action[] }[] = [
  { here: [], there: ["decide", "decide", "decide", "run", "decide", "run"] },
  { here: ["decide", "run", "decide", "decide", "run"], there: ["decide", "run", "decide", "decide", "run"] },
  { here: ["decide"], there: ["decide", "decide", "die"] },
  { here: ["decide", "decide", "decide"], there: ["decide", "decide", "run", "decide", "die"] },
];

test(`two processes decide and take up the same runs, and one is killed: no tool runs without approval, none twice, none is forgotten (${worlds.length} processes from seed ${worlds[0]})`, {
  timeout: 600_000,
}, async () => {
  const seen: Record<string, number> = {};
  for (const seed of worlds) {
    const folder = temporaryFolder();
    const place = { url: `sqlite:${folder.file("store.db")}`, modelUrl: server.baseUrl, ledger: folder.file("ledger") };
    await using actor = await ApprovalActor.open({ place, name: "this", seed });
    const conversations = Array.from({ length: 12 }, (_, n) => {
      const { here, there } = roles[n % roles.length] ?? { here: [], there: [] };
      return { id: `cnv_asked${n}`, text: `message of seed ${seed * 100 + n}`, here, there, stop: (seed + n) % 11 };
    });
    for (const { id, text } of conversations) {
      await actor.conversation(id).append(text);
      await actor.run(id);
    }
    const { readTo, tell, closed } = startAside("run/approval-process.ts", []);
    const jobs = conversations.map(({ id, there, stop }) => ({ id, actions: [...there], stop }));
    tell(JSON.stringify({ place, seed, jobs } satisfies Orders));
    await readTo(/^open$/);
    tell("go");
    await Promise.all(
      conversations.map(async ({ id, here }) => {
        for (const action of here) await (action === "decide" ? actor.decide(id) : actor.run(id));
      }),
    );
    const said = await readTo(/^never$/);
    await closed;
    const ends = await Promise.all(conversations.map(({ id }) => actor.finish(id)));
    expect({ seed, ends: ends.filter((end) => end !== "completed") }).toEqual({ seed, ends: [] });
    const deeds = deedsOf(place);
    const all = conversations.map(({ id }) => actor.conversation(id));
    expect({ seed, faults: await faultsIn(all, deeds) }).toEqual({ seed, faults: [] });
    for (const what of [...deeds.map(wordsOf), ...said.map((line) => line.replace(/^\S+ /, ""))])
      seen[what] = (seen[what] ?? 0) + 1;
  }
  const lacking = ["other decided new", "other ran refund", "this ran refund", "die held"].filter(
    (what) => !seen[what],
  );
  if (isTelling) expect(lacking).toEqual([]);
});

const wordsOf = (deed: Deed): string =>
  `${deed.by} ${deed.kind}${deed.kind === "decided" ? ` ${deed.outcome}` : deed.kind === "ran" ? ` ${deed.name}` : ""}`;
