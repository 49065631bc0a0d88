import { expect, onTestFinished, test } from "vitest";
import { parseAddress } from "../../../../src/stores/eventstoredb/address.ts";
import { AppendChannel } from "../../../../src/stores/eventstoredb/append-channel.ts";
import { createClient, loadDriver, type ReadCall } from "../../../../src/stores/eventstoredb/client.ts";
import { createMessages, type ReadReq } from "../../../../src/stores/eventstoredb/messages.ts";
import { collect, connect, someEvents } from "../../../support/eventstoredb/bare-client.ts";
import { startEventStoreDbServer } from "../../../support/eventstoredb/server.ts";
import { startServer } from "../../../support/stores/eventstoredb-opened.ts";

/** What a server of 24.6.0 was seen to refuse, and how: the messages are made by hand where no client makes them. */
async function rawConnection() {
  const server = await startServer();
  const driver = await loadDriver();
  const client = createClient(driver, parseAddress(server.connectionString));
  const messages = createMessages(driver);
  const appends = new AppendChannel(client, messages);
  onTestFinished(() => {
    appends.close();
    client.close();
  });
  const read = async (request: ReadReq): Promise<ReadCall> =>
    client.startCall((grpc, ...args) => grpc.read(request, ...args));
  return { server, messages, appends, read };
}

const failureOf = (call: ReadCall): Promise<Error> => new Promise((resolve) => call.once("error", resolve).resume());
const stream = { name: "conversation-1", from: 0, direction: "forwards", count: 1 } as const;

test("refuses reads of nothing, from the end forwards, and of a stream without a name", async () => {
  const { messages, read } = await rawConnection();
  for (const wrong of [{ count: 0 }, { from: "end" }] as const) {
    const failure = await failureOf(await read(messages.readStream({ ...stream, ...wrong })));
    expect(String(failure)).toContain("Unexpected ReadStreamResult: Error");
  }
  expect(String(await failureOf(await read(messages.readStream({ ...stream, name: "" }))))).toContain("UNKNOWN");
});

test("answers an empty read of the whole log with nothing, and rejects a filter without a window and an invalid position", async () => {
  const { server, messages, read } = await rawConnection();
  const nothing = messages.endOfLog();
  nothing.getOptions()?.setCount("0");
  const silent = await read(nothing);
  silent.on("error", () => undefined).resume();
  await server.untilCalls((calls) => calls.some(({ operation }) => operation === "read"));
  expect(server.openCalls()).toHaveLength(1);
  silent.cancel();
  const windowless = messages.subscribe({ from: null, pattern: "^a" });
  windowless.getOptions()?.getFilter()?.setMax(0);
  expect(String(await failureOf(await read(windowless)))).toContain("UNKNOWN");
  const turned = messages.eventAt(`5/${"9".padStart(20, "0")}`);
  expect(String(await failureOf(await read(turned)))).toContain("UNKNOWN");
});

test("refuses an append to a stream without a name, one that says nothing of the revision, and one of more than 16 MiB", async () => {
  const { messages, appends } = await rawConnection();
  const event = {
    id: "0b7a3c1e-0000-4000-8000-000000000001",
    type: "Noted",
    data: Buffer.from("{}"),
    metadata: Buffer.from("{}"),
  };
  await expect(appends.send(messages.append("", null, [event]), 5_000)).rejects.toThrow("name of the stream is empty");
  const unsaid = messages.append("conversation-1", null, [event]);
  unsaid.getOptions()?.clearNoStream();
  await expect(appends.send(unsaid, 5_000)).rejects.toThrow("expected revision is missing");
  const huge = messages.append("conversation-1", null, [{ ...event, data: new Uint8Array(16 * 1024 * 1024) }]);
  await expect(appends.send(huge, 5_000)).rejects.toThrow(/larger than max|RESOURCE_EXHAUSTED/);
});

test("refuses to delete softly what is not there", async () => {
  await using server = await startEventStoreDbServer();
  await using bare = connect(server.connectionString);
  const wrong = { type: "wrong-expected-version" };
  await expect(bare.client.deleteStream("conversation-none", { expectedRevision: "any" })).rejects.toMatchObject(wrong);
  await bare.append("conversation-1", someEvents(1), "no_stream");
  await bare.client.deleteStream("conversation-1", { expectedRevision: "any" });
  await expect(collect(bare.client.readStream("conversation-1"))).rejects.toMatchObject({ type: "stream-not-found" });
});

test("ends where an append names the stream $$", async () => {
  await using server = await startEventStoreDbServer();
  await using bare = connect(server.connectionString);
  await expect(bare.append("$$", someEvents(1))).rejects.toThrow();
  await expect(connect(server.connectionString).append("conversation-1", someEvents(1))).rejects.toMatchObject({
    code: 14,
  });
});
