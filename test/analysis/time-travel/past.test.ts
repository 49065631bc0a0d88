import { expect, test } from "vitest";
import { user } from "../../../src/domain/make-block.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { createWorkshop, eventsOf } from "../../support/workshop.ts";

test.each([2, 1_000])(
  "a past of %i blocks shows ids, kinds and digests, and gives contents when it is asked",
  async (blocks) => {
    const { conversation } = createWorkshop();
    await conversation.append(Array.from({ length: blocks }, (_, n) => user(`Message ${n}.`)));
    const past = await conversation.at(-1);
    const [first] = past.turn.blocks;
    expect(Object.keys(first ?? {})).toEqual(outlined);
    // @ts-expect-error A past whose contents were not read is a type without them.
    expect(first?.text).toBeUndefined();
    expect(past.turn).toMatchObject({ length: blocks, digest: (await conversation.turn()).digest });
    expect((await past.content()).blocks[0]?.text).toBe("Message 0.");
    expect((await past.load()).turn.blocks[0]?.text).toBe("Message 0.");
  },
);

test("in the middle of a run a past shows outlines too, and its whole what they say", async () => {
  const { conversation } = await editedConversation();
  const [asked] = await revisionsOf(conversation, "InferenceRequested");
  const past = await conversation.at(asked ?? -1);
  const { run } = past;
  const whole = (await past.load()).run;
  expect(run?.outgoing().blocks.map((block) => Object.keys(block))).toEqual([outlined, outlined]);
  expect(run?.handedOn.digest).toBe(whole?.handedOn.digest);
  expect(whole?.outgoing().blocks.map(({ text }) => text)).toEqual(["hello", "Be brief."]);
});

test("inside a run the Turn that was handed on follows the newest event", async () => {
  const { conversation } = await editedConversation();
  const seen: (readonly [type: string, texts: readonly string[]])[] = [];
  for (const { revision, event } of await eventsOf(conversation)) {
    const { run, turn } = await (await conversation.at(revision)).load();
    if (run === null) continue;
    seen.push([event.type, run.handedOn.blocks.map(({ text }) => text)]);
    expect(turn.length).toBe(1);
  }
  expect(seen).toEqual([
    ["RunStarted", ["hello"]],
    ["EffectStarted", ["hello"]],
    ["EffectFinished", ["hello"]],
    ["TurnEdited", ["hello", "Be brief."]],
    ["InferenceRequested", ["hello", "Be brief."]],
    ["ResponseReceived", ["hello", "Be brief.", "hi"]],
    ["TurnEdited", ["hello", "HI"]],
  ]);
});

test.each(["0.1", "0.0.0.0", "1", "0.-1", "0.00", "x"])(
  "an error names a frame that the run has not reached: %s",
  async (frame) => {
    const { conversation } = await editedConversation();
    const [asked] = await revisionsOf(conversation, "InferenceRequested");
    const { run } = await conversation.at(asked ?? -1);
    expect(() => run?.outgoing(frame)).toThrow(expect.objectContaining({ code: "frame-not-found" }));
    expect(() => run?.working(frame)).toThrow(`there is no frame '${frame}' of ${run?.id} yet`);
  },
);

test("every frame that an event of the run speaks of is there, with those above it", async () => {
  const { conversation } = await editedConversation();
  for (const { revision, frame, runId } of await eventsOf(conversation)) {
    const { run } = await conversation.at(revision);
    if (run === null || frame === null || runId === null) continue;
    const numbers = frame.split(".");
    for (let length = 1; length <= numbers.length; length += 1) {
      expect(run.working(numbers.slice(0, length).join(".")).length).toBeGreaterThan(0);
    }
    expect(run.outgoing().length).toBe(run.outgoing(frame).length);
  }
});

const outlined = ["id", "kind", "digest"];

/** One run under a layer that says more on the way in, and speaks up on the way back. */
async function editedConversation() {
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const loud = defineMiddleware({ name: "loud", version: "1.0.0" }, (next) => async (turn, ctx) => {
    await ctx.effect("look", () => "looked");
    const result = await next(turn.append(user("Be brief.")));
    return result
      .filter(({ text }) => text !== "Be brief.")
      .map((block) => (block.kind === "assistant" ? block.withText("HI") : block));
  });
  const { engine } = workshop.scripted(["hi"], { middleware: [loud] });
  await conversation.append("hello");
  await conversation.run(engine);
  return workshop;
}

async function revisionsOf(conversation: Parameters<typeof eventsOf>[0], type: string): Promise<readonly number[]> {
  return (await eventsOf(conversation)).filter(({ event }) => event.type === type).map(({ revision }) => revision);
}
