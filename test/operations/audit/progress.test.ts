import { expect, test } from "vitest";
import { verifyStore } from "../../../src/operations/audit/verify.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { whatIf } from "../../../src/replay/counterfactual.ts";
import { replayFolds } from "../../../src/replay/fold-replay.ts";
import { reexecute } from "../../../src/replay/re-execute.ts";
import { createWorkshop, eventsOf } from "../../support/workshop.ts";

test("verify and replays report every event as they pass it", async () => {
  const workshop = createWorkshop();
  const { conversation, store } = workshop;
  const { engine } = workshop.scripted(["one", "two"]);
  for (const question of ["hello", "and now?"]) {
    await conversation.append(question);
    await conversation.run(engine);
  }
  const counted = (await eventsOf(conversation)).map((_, index) => index + 1);
  const told: number[] = [];
  const onProgress = (events: number): void => void told.push(events);
  const works = {
    replay: () => replayFolds(conversation, { onProgress }),
    "re-execution": () => reexecute(conversation, engine, { onProgress }),
    counterfactual: () => whatIf(conversation, engine, { onProgress }),
    async verification() {
      const onEvent = (): void => onProgress(told.length + 1);
      for await (const { problem } of verifyStore(store.events, { codecs, onEvent })) expect(problem).toBeNull();
    },
  };
  for (const [name, work] of Object.entries(works)) {
    told.length = 0;
    await work();
    expect(told, name).toEqual(counted);
  }
});
