import { expect, test } from "vitest";
import { describeEvent } from "../../../src/analysis/descriptions/describe-event.ts";
import { noLabels, noteLabels } from "../../../src/analysis/descriptions/labels.ts";
import { AppendDraft, noConversationFacts } from "../../../src/domain/decider/draft.ts";
import type { RecordedEvent } from "../../../src/domain/events/recorded.ts";
import { usage } from "../../../src/projections/usage.ts";
import { conversationList } from "../../../src/projections/views/conversation-list.ts";
import { conversationView } from "../../../src/projections/views/conversation-view.ts";
import { gated } from "../../support/gates.ts";
import { createWorkshop, eventsOf, rejectionOf } from "../../support/workshop.ts";

const stream = "conversation-cnv_workshop";

type OpenRun = { readonly ended: readonly RecordedEvent[]; readonly open: readonly RecordedEvent[] };

/** A conversation whose first run has completed, and whose second one waits for an answer that continues from the first. */
async function twoRuns(): Promise<OpenRun> {
  const asked = Promise.withResolvers<undefined>();
  const answer = Promise.withResolvers<undefined>();
  const provider = gated(["one", "two"], (number) => {
    if (number === 0) return undefined;
    asked.resolve(undefined);
    return answer.promise;
  });
  const { conversation, engine } = createWorkshop();
  const running = engine({ provider });
  await conversation.append("first");
  await conversation.run(running);
  const { length } = await eventsOf(conversation);
  await conversation.append("second");
  const second = conversation.run(running);
  await asked.promise;
  const events = await eventsOf(conversation);
  answer.reject(new Error("enough was seen"));
  await rejectionOf(second);
  return { ended: events.slice(0, length), open: events.slice(length) };
}

/** What each fold says is open after these events. */
function openIn(events: readonly RecordedEvent[]) {
  const draft = new AppendDraft(noConversationFacts);
  let [view, list, used] = [
    ...([conversationView.initial(stream)] as const),
    ...([conversationList.initial(stream), usage.initial(stream)] as const),
  ];
  const labels = noLabels();
  for (const recorded of events) {
    draft.take(recorded.event, recorded.runId);
    view = conversationView.apply(view, recorded);
    list = conversationList.apply(list, recorded);
    used = usage.apply(used, recorded);
    noteLabels(labels, recorded);
  }
  const said = events.find(({ event }) => event.type === "BlockAppended");
  if (said === undefined) throw new Error("nobody said anything");
  return {
    draft: draft.run?.id ?? null,
    client: view.client.run?.id ?? null,
    server: { open: view.server.open.size, unanswered: view.server.unanswered.size },
    list: list.summary.openRun?.id ?? null,
    usage: used.open.length,
    words: describeEvent(labels, said).includes("(pending)"),
  };
}

/** The skip of an event that stood in a run, or in none. */
const skipIn = (events: readonly RecordedEvent[], runId: string | null): RecordedEvent => ({
  ...{ stream, revision: events.length, id: "skip", at: events.at(-1)?.at ?? "", actor: { kind: "operator" } },
  ...{ runId, frame: null, digest: "" },
  event: { type: "EventSkipped", version: 1, data: { revision: 0, reason: "it cannot be read" } },
});

const runOf = (events: readonly RecordedEvent[]): string | null =>
  events.find(({ runId }) => runId !== null)?.runId ?? null;

test.each([
  ["an event of a run that ended before", ({ ended }: OpenRun) => runOf(ended)],
  ["an event outside runs", () => null],
  ["an event of a run that another conversation has", () => "run_of_a_parent"],
])("the skip of %s leaves the open run open in every fold", async (_what, stoodIn) => {
  const runs = await twoRuns();
  const events = [...runs.ended, ...runs.open];
  const id = runOf(runs.open);
  const isOpen = { draft: id, client: id, server: { open: 1, unanswered: 0 }, list: id, usage: 1, words: true };
  expect(openIn(events)).toEqual(isOpen);
  expect(openIn([...events, skipIn(events, stoodIn(runs))])).toEqual(isOpen);
});

test("the skip of an event of the open run ends that run in every fold", async () => {
  const { ended, open } = await twoRuns();
  const events = [...ended, ...open];
  expect(openIn([...events, skipIn(events, runOf(open))])).toEqual({
    ...{ draft: null, client: null, server: { open: 0, unanswered: 1 }, list: null, usage: 0, words: false },
  });
});
