import { expect, test } from "vitest";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import type { AccessRequest } from "../../../src/log/access/authorized-store.ts";
import { authorizedStore } from "../../../src/log/access/authorized-store.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { ann, refunds } from "../../support/run/approvals.ts";
import { calling } from "../../support/run/tool-runs.ts";
import { eventsOf, rejectionOf } from "../../support/workshop.ts";

test("the store's hook is asked whether this caller may approve, and refuses before anything is written", async () => {
  const requests: AccessRequest[] = [];
  let mayApprove = false;
  const events = authorizedStore(createMemoryStore(), (request) => {
    requests.push(request);
    return request.action !== "approve" || mayApprove;
  });
  await using store = new TurnlogStore(events);
  const conversation = store.conversation("cnv_asked");
  const { tool, runs } = refunds();
  const engine = createEngine({ provider: scripted([calling(["refund", '{"amount":5}']), "done"]), tools: [tool] });
  await conversation.append("hello");
  const call = (await conversation.run(engine)).waitingFor[0]?.blockId ?? "";
  const before = (await eventsOf(conversation)).length;
  for (const decided of [conversation.approve(call, { actor: ann }), conversation.deny(call, { actor: ann })])
    expect(await rejectionOf(decided)).toMatchObject({ code: "access-denied" });
  expect(await eventsOf(conversation)).toHaveLength(before);
  expect(requests.filter(({ action }) => action === "approve")).toEqual([
    { action: "approve", stream: "conversation-cnv_asked" },
    { action: "approve", stream: "conversation-cnv_asked" },
  ]);
  mayApprove = true;
  await conversation.approve(call, { actor: ann });
  await conversation.run(engine);
  expect(runs).toEqual([5]);
});
