import { expect, test } from "vitest";
import { message, startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { openStore } from "../../../src/conversation/open-store.ts";
import { image, text, user } from "../../../src/domain/make-block.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { isLong } from "../../support/cases.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

/** A data URL of so many megabytes, every kilobyte of which says where it is. */
const imageOf = (megabytes: number): string =>
  `data:image/png;base64,${Array.from({ length: megabytes * 1024 }, (_, n) => n.toString(36).padStart(8, "A").repeat(128)).join("")}`;

/** Either is kept in many blobs. */
const megabytes = isLong ? 20 : 6;

test(`an image of ${megabytes} MB goes through append, run and reopening, and the server reads it whole`, async () => {
  const path = temporaryFolder().file("turnlog.db");
  const url = imageOf(megabytes);
  await using server = await startReferenceServer({
    answer: () => ({ output: [message("I see")] }),
    maxBodyBytes: 64 * 1024 * 1024,
  });
  const engine = (): ReturnType<typeof createEngine> =>
    createEngine({
      provider: openaiResponses({ model: "m", baseURL: server.baseUrl, apiKey: "key", transport: "json" }),
    });
  {
    await using store = await openStore(`sqlite:${path}`);
    const conversation = store.conversation("cnv_image");
    await conversation.append(user([text("What is this?"), image(url)]));
    expect((await conversation.run(engine())).text).toBe("I see");
    await conversation.append("And what else?");
  }
  const sent = server.requests[0]?.body;
  expect(
    isSame(contentSent(sent), [
      { type: "input_text", text: "What is this?" },
      { type: "input_image", image_url: url, detail: "auto" },
    ]),
  ).toBe(true);

  server.forget(server.responseIds()[0] ?? "");
  await using store = await openStore(`sqlite:${path}`, { mustExist: true });
  const conversation = store.conversation("cnv_image");
  const { turn, steps } = await conversation.run(engine());
  expect((await turn()).length).toBe(4);
  // Lost there, so sent again: from the store, and byte for byte.
  expect(steps.map(({ decision }) => decision.strategy)).toEqual(["full"]);
  const again = server.requests.at(-1)?.body;
  expect(isSame(contentSent(again), contentSent(sent))).toBe(true);
  for await (const event of store.events.readStream("conversation-cnv_image")) {
    expect(event.data.length).toBeLessThan(256 * 1024);
  }
});

/** The content of the first item of a request's input. */
function contentSent(body: unknown): unknown {
  const input =
    typeof body === "object" && body !== null && "input" in body && Array.isArray(body.input) ? body.input : [];
  const first: unknown = input.at(0);
  return typeof first === "object" && first !== null && "content" in first ? first.content : undefined;
}

/** Compared by hand: a difference of megabytes is not for printing. */
const isSame = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right);
