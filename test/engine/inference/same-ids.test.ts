import { expect, test } from "vitest";
import * as z from "zod";
import { isJsonObject } from "../../../src/base/json.ts";
import type { Provider } from "../../../src/engine/ports/provider.ts";
import { verifyStore } from "../../../src/operations/audit/verify.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { type ScriptedAnswer, scripted } from "../../../src/providers/scripted/scripted.ts";
import { createWorkshop, type Workshop } from "../../support/workshop.ts";

/** An endpoint that counts its responses: the first one of each endpoint is `resp_1`. */
function counting(prefix: string, answers: readonly ScriptedAnswer[]): Provider {
  const provider = scripted(answers, { prefix });
  const realIds = new Map<string, string>();
  return {
    ...provider,
    async infer(request) {
      const body: unknown = JSON.parse(request.bodyText);
      const { previous_response_id: asked = null, ...rest } = isJsonObject(body) ? body : {};
      const previous = typeof asked === "string" ? { previous_response_id: realIds.get(asked) ?? asked } : {};
      const { response } = await provider.infer({ ...request, bodyText: JSON.stringify({ ...rest, ...previous }) });
      const id = `resp_${realIds.size + 1}`;
      realIds.set(id, z.string().parse(response["id"]));
      return { response: { ...response, id, previous_response_id: asked } };
    },
  };
}

const lost: ScriptedAnswer = {
  error: { message: "Previous response not found.", code: "previous_response_not_found", status: 400 },
};

async function mustBeSound({ store }: Workshop): Promise<void> {
  for await (const { problem } of verifyStore(store.events, { codecs })) expect(problem).toBeNull();
}

test("two endpoints may give one response id: each is continued from as it was", async () => {
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const [one, two] = ["one", "two"].map((prefix) =>
    workshop.engine({ provider: counting(prefix, [`${prefix}, first`, `${prefix}, second`]) }),
  );
  if (one === undefined || two === undefined) throw new Error("there are two");
  await conversation.append("hello");
  await conversation.run(one);
  await conversation.append("and you?");
  await conversation.run(two);
  await conversation.append("and now?");
  const { steps } = await conversation.run(one);
  expect(steps).toMatchObject([{ decision: { strategy: "chained", anchor: { id: "resp_1", length: 2 } } }]);
  await mustBeSound(workshop);
});

test("a response that one endpoint has lost is not lost to another that gave the same id", async () => {
  const workshop = createWorkshop();
  const { conversation } = workshop;
  const one = workshop.engine({ provider: counting("one", ["one, first", "one, second"]) });
  const two = workshop.engine({ provider: counting("two", ["two, first", lost, "two, second"]) });
  await conversation.append("hello");
  await conversation.run(one);
  await conversation.append("and you?");
  await conversation.run(two);
  await conversation.append("really?");
  await conversation.run(two);
  await conversation.append("and now?");
  const { steps } = await conversation.run(one);
  expect(steps).toMatchObject([{ decision: { strategy: "chained", anchor: { id: "resp_1", length: 2 } } }]);
  await mustBeSound(workshop);
});
