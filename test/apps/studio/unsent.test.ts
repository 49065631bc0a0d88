import { expect, test } from "vitest";
import type { StackDocument } from "../../../src/apps/studio/stack-documents.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { studioHere } from "../../support/studio/studio-here.ts";

const refused = [{ error: { status: 400, message: "no" } }];

test("a message behind an answer is not called the first, and nothing is foreseen about its request", async () => {
  await using here = await studioHere("memory:");
  const talk = here.store.conversation("talk");
  await talk.append("Hello.");
  await talk.run(createEngine({ provider: scripted(["Hi."]) }));
  await talk.append("And again.");
  const { revision } = await talk.at(-1);
  const { request, banner } = await here.get<StackDocument>(`/api/c/talk/stack/${revision}`);
  expect(request).toBeNull();
  expect(banner).toMatchObject({ verdict: "nothing", title: ["Not sent yet"] });
  expect(banner.text).toMatch(/^The newest request, r\d+, was sent before this message\.$/);
});

test("a message behind a request that failed says that something was sent", async () => {
  await using here = await studioHere("memory:");
  const talk = here.store.conversation("talk");
  await talk.append("Hello.");
  await expect(talk.run(createEngine({ provider: scripted(refused) }))).rejects.toThrow();
  await talk.append("And again.");
  const { revision } = await talk.at(-1);
  expect((await here.get<StackDocument>(`/api/c/talk/stack/${revision}`)).banner.title).toEqual(["Not sent yet"]);
});

test("a fork without requests does not foresee that everything is sent: it may go on from its parent's answer", async () => {
  await using here = await studioHere("memory:");
  const talk = here.store.conversation("talk");
  await talk.append("Hello.");
  const engine = createEngine({ provider: scripted(["Hi.", "Yes."]) });
  await talk.run(engine);
  const fork = await talk.fork();
  await fork.append("And again?");
  const { revision } = await fork.at(-1);
  const { banner } = await here.get<StackDocument>(`/api/c/${fork.id}/stack/${revision}`);
  expect(banner).toMatchObject({ title: ["Nothing sent yet"] });
  expect(banner.text).toBe(
    "The first request may continue from an answer of the conversation that this one began from.",
  );
  expect((await fork.run(engine)).steps.map(({ decision }) => decision.strategy)).toEqual(["chained"]);
});
