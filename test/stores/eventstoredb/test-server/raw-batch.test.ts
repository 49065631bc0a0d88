import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { credentials } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { StreamsClient, shared, streams } from "../../../support/eventstoredb/protocol.ts";
import { type EventStoreDbServer, startEventStoreDbServer } from "../../../support/eventstoredb/server.ts";

type Chunk = InstanceType<typeof streams.BatchAppendReq>;

/** One batch stream, spoken by hand: what the client would not survive. */
function openBatch(server: EventStoreDbServer) {
  const client = new StreamsClient(`${server.host}:${server.port}`, credentials.createInsecure());
  const call = client.batchAppend();
  const answers: string[] = [];
  call.on("data", (answer: InstanceType<typeof streams.BatchAppendResp>) => {
    answers.push(answer.getError()?.getMessage() ?? "success");
    call.emit("answered");
  });
  const close = (): void => {
    call.on("error", () => {}).cancel();
    client.close();
  };
  return { call, answers, close };
}

function chunk(
  correlation: string,
  options: { readonly ids: readonly string[]; readonly isFirst?: boolean; readonly isFinal?: boolean },
): Chunk {
  const request = new streams.BatchAppendReq().setCorrelationId(new shared.UUID().setString(correlation));
  if (options.isFirst === true) {
    const name = new shared.StreamIdentifier().setStreamName(Buffer.from("conversation-1"));
    const head = new streams.BatchAppendReq.Options().setStreamIdentifier(name);
    head.setStreamPosition("0");
    request.setOptions(head);
  }
  const messages = options.ids.map((id) => {
    const message = new streams.BatchAppendReq.ProposedMessage().setId(new shared.UUID().setString(id));
    message.getMetadataMap().set("type", "A").set("content-type", "application/json");
    return message;
  });
  return request.setProposedMessagesList(messages).setIsFinal(options.isFinal ?? false);
}

test("answers an append with a bad id twice: at once, and again when its time is over", async () => {
  await using server = await startEventStoreDbServer({ writeTimeoutMs: 20 });
  const { call, answers, close } = openBatch(server);
  call.write(chunk(randomUUID(), { ids: ["not-a-uuid"], isFirst: true, isFinal: true }));
  while (answers.length < 2) await once(call, "answered");
  expect(answers).toEqual(["BadRequest", "Timeout"]);
  close();
});

test("lets the whole batch stream die of a bad id in a later chunk", async () => {
  await using server = await startEventStoreDbServer();
  const { call, close } = openBatch(server);
  const correlation = randomUUID();
  call.write(chunk(correlation, { ids: [randomUUID()], isFirst: true }));
  call.write(chunk(correlation, { ids: ["not-a-uuid"], isFinal: true }));
  const died = await once(call, "answered").catch((error: unknown) => String(error));
  expect(died).toContain("2 UNKNOWN: Exception was thrown by handler. NullReferenceException");
  expect(server.events("conversation-1")).toEqual([]);
  close();
});

test("answers an append that never becomes complete with a time-out", async () => {
  await using server = await startEventStoreDbServer({ writeTimeoutMs: 20 });
  const { call, answers, close } = openBatch(server);
  call.write(chunk(randomUUID(), { ids: [randomUUID()], isFirst: true }));
  await once(call, "answered");
  expect(answers).toEqual(["Timeout"]);
  close();
});
