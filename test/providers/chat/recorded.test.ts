import { describe, expect, test } from "vitest";
import { createChatFront } from "../../../packages/reference-server/src/chat/chat-front.ts";
import { parseJson as parseWire } from "../../../packages/reference-server/src/wire.ts";
import { canonicalJson } from "../../../src/base/canonical-json.ts";
import { isJsonList, isJsonObject, type JsonObject, parseJson } from "../../../src/base/json.ts";
import { Block } from "../../../src/domain/block.ts";
import { type AppendInput, draftsOf } from "../../../src/domain/chat-message.ts";
import { chatCodecs } from "../../../src/providers/chat/chat-codec.ts";
import {
  type Exchange,
  hasRecordings,
  needsRecordings,
  recordedExchanges,
} from "../../support/providers/recorded-cases.ts";
import { stringsOf } from "../../support/providers/strings-of.ts";

const exchanges = hasRecordings ? recordedExchanges("google").filter(({ provider }) => provider === "openai") : [];
const codec = chatCodecs.openai;

test.skipIf(!hasRecordings)(`recorded chat completions are all there to be tested${needsRecordings}`, () => {
  expect(exchanges.length).toBe(2);
});

// Without recordings the one test above says so; the others would only repeat it.
const describeRecorded = hasRecordings ? describe : () => undefined;

/** The request, made again of what its messages are read as. */
function madeAgain({ request }: Exchange): string {
  const { messages, stream: _, ...settings } = request;
  // Recorded JSON that a server took.
  const given = (isJsonList(messages) ? messages : []).filter(isJsonObject) as unknown as readonly AppendInput[];
  const input = draftsOf(given).map((block) => ({ block, withId: false }));
  return codec.encodeRequest({ settings, input, anchor: null, transport: "json" });
}

/** A message that only calls has `content: null` where it was not there: to the server that is the same. */
const asSent = ({ request: { messages, stream: _, ...members } }: Exchange): JsonObject => ({
  ...members,
  messages: (isJsonList(messages) ? messages : [])
    .filter(isJsonObject)
    .map((message) => ("content" in message ? message : { content: null, ...message })),
});

describeRecorded("recorded chat completions", () => {
  test("are asked again from the blocks of their messages, and taken by the reference front", () => {
    const front = createChatFront({ seed: "recorded" });
    for (const exchange of exchanges) {
      const body = madeAgain(exchange);
      expect(canonicalJson(parseJson(body))).toBe(canonicalJson(asSent(exchange)));
      expect(stringsOf(parseJson(body))).toEqual(stringsOf(asSent(exchange)));
      const url = new URL("http://front.test/v1/chat/completions");
      expect(front.accept({ body: parseWire(body), url, headers: {}, fault: undefined, index: 0 })).not.toHaveProperty(
        "refusal",
      );
    }
  });

  test("are given back whole from their blocks", () => {
    for (const { response } of exchanges) {
      const answer = codec.readAnswer(response, { inferenceId: "inf_1", settings: {}, capabilities: {} });
      expect(answer.isComplete).toBe(true);
      const blocks = answer.blocks.map(
        ({ kind, payload, wire }) => new Block({ id: null, kind, payload, wire: { scope: "recorded", ...wire } }),
      );
      const written = codec.writeAnswer({ ...answer, blocks });
      expect(canonicalJson(written)).toBe(canonicalJson(response));
      expect(stringsOf(written)).toEqual(stringsOf(response));
    }
  });
});
