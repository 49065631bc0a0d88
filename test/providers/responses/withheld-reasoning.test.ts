import { expect, test } from "vitest";
import type { JsonValue } from "../../../src/base/json.ts";
import { Block } from "../../../src/domain/block.ts";
import { responsesCodec } from "../../../src/providers/responses/responses-codec.ts";

const asked = { inferenceId: "inf_1", settings: {}, capabilities: {} };
const response = (told: JsonValue) => ({
  ...{ id: "resp_1", status: "completed", output: [], input_transformations: told },
});

const removed = (id: string | null, reason: string) => ({ type: "reasoning", id, action: "removed", reason });

test.each<readonly [string, JsonValue, object]>([
  [
    "reasons are told in our words",
    ["prefix", "model", "organization", "end_user"].map((what) => removed("rs_1", `${what}_mismatch`)),
    {
      withheld: ["prefix", "model", "organization", "end-user"].map((reason) => ({ itemId: "rs_1", reason })),
      rest: {},
    },
  ],
  [
    "a reason that nobody knows is passed on",
    [removed(null, "weather")],
    { withheld: [{ itemId: null, reason: "weather" }], rest: {} },
  ],
  [
    "what is said beyond that is kept as it came",
    [removed("rs_1", "turn_boundary"), { type: "message", action: "moved" }],
    {
      withheld: [{ itemId: "rs_1", reason: "turn-boundary" }],
      rest: { input_transformations: [removed("rs_1", "turn_boundary"), { type: "message", action: "moved" }] },
    },
  ],
  ["nothing withheld is kept as it came", [], { withheld: [], rest: { input_transformations: [] } }],
  ["null is kept as it came", null, { withheld: [], rest: { input_transformations: null } }],
])("%s, and the response can be written again", (_what, told, expected) => {
  const answer = responsesCodec.readAnswer(response(told), asked);
  expect(answer).toMatchObject(expected);
  expect(answer.rest).toEqual(Reflect.get(expected, "rest"));
  const blocks = answer.blocks.map(({ kind, payload }) => new Block({ id: null, kind, payload }));
  const { withheld = [], ...others } = answer;
  const recorded = { ...others, blocks, ...(withheld.length === 0 ? {} : { withheld }) };
  expect(responsesCodec.writeAnswer(recorded)).toEqual(response(told));
});
