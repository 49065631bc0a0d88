import { expect, test } from "vitest";
import { message } from "../../../packages/reference-server/src/server.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { dialectNames, dialects } from "../../support/dialects.ts";
import { createWorkshop, rejectionOf } from "../../support/workshop.ts";

test.each(dialectNames)("what %s has counted of a Turn its compaction and its budget go by", async (name) => {
  const dialect = dialects[name];
  await using server = await dialect.start(() => ({ output: [message("Noted.")] }));
  const provider = dialect.provider(server.url, { model: "m" });
  const { conversation } = createWorkshop({ codecs: dialect.codecs });
  const compact = { beforeRequest: 1, how: ["drop-exchanges"], keep: 1 } as const;
  const lengths: number[] = [];
  for (const text of ["one", "two", "three"]) {
    await conversation.append(text);
    await conversation.run(createEngine({ provider, compact }));
    lengths.push((await conversation.turn()).length);
  }
  expect(lengths).toEqual([2, 2, 2]);
  await conversation.append("four");
  const asked = server.requests.length;
  const failure = await rejectionOf(conversation.run(createEngine({ provider }), { budget: { maxInputTokens: 1 } }));
  expect(failure).toMatchObject({ kind: "budget-exceeded", cause: { limit: "maxInputTokens", max: 1 } });
  expect(server.requests).toHaveLength(asked);
});
