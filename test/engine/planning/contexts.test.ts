import { expect, test } from "vitest";
import { user } from "../../../src/domain/make-block.ts";
import { Turn } from "../../../src/domain/turn.ts";
import { contextsOf } from "../../../src/engine/planning/contexts.ts";
import { conversationView } from "../../../src/projections/views/conversation-view.ts";
import { scope } from "../../support/planning/exchange.ts";
import { holding, replied } from "../../support/planning/plan-builders.ts";

test("what an endpoint has lost as a whole speaks against what it held by then, and nothing that it made since", () => {
  const view = conversationView.initial("conversation-cnv_lost");
  view.server.invalidScopes.set(scope, { reason: "refused", revision: 9, contexts: 2 });
  const { invalidation } = contextsOf(view);
  const turn = Turn.of([user("hello"), replied(1)]);
  const at = (index: number, changes = {}) => invalidation(holding(turn, 1, { index, ...changes }));
  expect([at(0), at(1)].map((each) => each?.revision)).toEqual([9, 9]);
  expect(at(2)).toBeNull();
  expect(at(0, { scope: "another endpoint" })).toBeNull();
});
