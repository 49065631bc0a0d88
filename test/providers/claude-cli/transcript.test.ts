import { expect, onTestFinished, test } from "vitest";
import { claudeCliStandIn, message, startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { createEngine, image, openStore, text, toolCall, toolResult, user } from "../../../src/index.ts";
import { claudeCli } from "../../../src/providers/claude-cli/claude-cli.ts";
import { claudeCliCodec, invocationOf } from "../../../src/providers/claude-cli/claude-cli-codec.ts";

test("the transcript for a new session has its images beside the text, each where it was shown", async () => {
  const server = await startReferenceServer({
    seed: "images",
    answer: () => ({ output: [message("A dog and a cat.")] }),
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  await using store = await openStore("memory:", { codecs: [claudeCliCodec] });
  const conversation = store.conversation();
  const [dog, cat] = ["data:image/png;base64,ZG9n", "https://here.example/cat.png"];
  await conversation.append([
    user([text("What is this?"), image(dog)]),
    toolCall({ callId: "call_1", name: "look", arguments: "{}" }),
    toolResult({ callId: "call_1", output: [text("See:"), image(cat)] }),
    user("Well?"),
  ]);
  await conversation.run(createEngine({ provider: claudeCli({ ...claudeCliStandIn(server.url) }) }));
  const { stdin } = invocationOf(server.requests[0]?.bodyText ?? "{}");
  expect(JSON.parse(stdin)).toMatchObject({
    message: {
      content: [
        {
          type: "text",
          text: expect.stringContaining(
            '"output":[{"type":"text","text":"See:"},{"type":"image","shown":2}]',
          ) as unknown,
        },
        { type: "image", source: { type: "base64", media_type: "image/png", data: "ZG9n" } },
        { type: "image", source: { type: "url", url: cat } },
      ],
    },
  });
  expect(server.reading(0)?.items).toMatchObject([
    { role: "user", content: [{ type: "text" }, { type: "input_image", image_url: dog }] },
    { type: "function_call", name: "look" },
    { type: "function_call_output", output: [{ type: "text" }, { type: "input_image", image_url: cat }] },
    { role: "user", content: [{ type: "text", text: "Well?" }] },
  ]);
  expect(await conversation.verify()).toMatchObject({ isSound: true, requests: 1 });
});
