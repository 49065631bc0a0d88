import type { Anthropic } from "@anthropic-ai/sdk";
import type { OpenAI } from "openai";
import { expect, expectTypeOf, test } from "vitest";
import { type OpenaiResponsesOptions, openaiResponses } from "../../../src/entries/responses.ts";
import { secret } from "../../../src/index.ts";
import type { MessagesSettings } from "../../../src/providers/anthropic/options.ts";
import type { ChatSettings } from "../../../src/providers/chat/chat-options.ts";
import type { RequestSettings } from "../../../src/providers/responses/responses-options.ts";

type Client = OpenAI.Responses.ResponseCreateParams;
type Of<Name extends keyof OpenaiResponsesOptions> = Pick<OpenaiResponsesOptions, Name>;

const create = (options: Partial<OpenaiResponsesOptions>) => openaiResponses({ model: "m", apiKey: "k", ...options });

type Shared<Settings, Params> = Pick<Params, Extract<keyof Params, keyof Settings>>;

test("what the official clients take, by their types, can be given here, and a text may be no number", () => {
  type Chat = OpenAI.Chat.ChatCompletionCreateParams;
  type Messages = Omit<Anthropic.Beta.Messages.MessageCreateParams, "betas">;
  expectTypeOf<Shared<RequestSettings, Client>>().toExtend<RequestSettings>();
  expectTypeOf<Shared<ChatSettings, Chat>>().toExtend<ChatSettings>();
  expectTypeOf<Shared<MessagesSettings, Messages>>().toExtend<MessagesSettings>();
  // Every member that they know has a place here, but for those that turnlog decides.
  expectTypeOf<Exclude<keyof Client, keyof RequestSettings>>().toEqualTypeOf<
    "conversation" | "input" | "model" | "previous_response_id" | "prompt" | "stream"
  >();
  expectTypeOf<Exclude<keyof Chat, keyof ChatSettings>>().toEqualTypeOf<
    "function_call" | "functions" | "messages" | "model" | "n" | "stream"
  >();
  expectTypeOf<Exclude<keyof Messages, keyof MessagesSettings>>().toEqualTypeOf<
    "messages" | "model" | "stream" | "system" | "thread"
  >();
  expectTypeOf<{ temperature: 1; truncation: "auto"; service_tier: null }>().toExtend<
    Partial<OpenaiResponsesOptions>
  >();
  expectTypeOf<{ temperature: "1" }>().not.toExtend<Of<"temperature">>();
  expectTypeOf<{ truncation: "maybe" }>().not.toExtend<Of<"truncation">>();
  expectTypeOf<{ reasoning: { effort: 3 } }>().not.toExtend<Of<"reasoning">>();
  expectTypeOf<{ tools: [{ type: "function"; name: "n" }] }>().not.toExtend<Of<"tools">>();
  expectTypeOf<{ tools: [{ type: "function" }] }>().not.toExtend<Pick<ChatSettings, "tools">>();
  expectTypeOf<{ tools: [{ name: "n" }] }>().not.toExtend<Pick<MessagesSettings, "tools">>();
  expectTypeOf<{ thinking: { type: "enabled" } }>().not.toExtend<Pick<MessagesSettings, "thinking">>();
  expectTypeOf<{ tools: [{ type: "web_search"; filters: { allowed_domains: ["a.example"] } }] }>().toExtend<
    Of<"tools">
  >();
  const told = { metadata: { of: "this" }, reasoning: { effort: "low" } } as const;
  expect(create(told).settings).toEqual({ model: "m", ...told });
});

test("a secret may replace any text that is not a choice, at any depth", () => {
  const tools = [
    { type: "mcp", server_label: "crm", authorization: secret("CRM"), headers: { a: secret("A") } },
  ] as const;
  expectTypeOf<{ tools: typeof tools }>().toExtend<Of<"tools">>();
  const { settings } = create({ tools, secrets: { CRM: "12345678", A: "87654321" } });
  expect(settings["tools"]).toEqual(tools);
  expectTypeOf<{ truncation: ReturnType<typeof secret> }>().not.toExtend<Of<"truncation">>();
});

const decided = {
  input: [],
  previous_response_id: "resp_1",
  stream: true,
  conversation: "conv_1",
  prompt: { id: "pmpt_1" },
} as const;

test.each(Object.entries(decided))(
  "%s is not a setting, by the type and where types are not looked at",
  (name, value) => {
    expectTypeOf<Pick<OpenaiResponsesOptions, keyof typeof decided>>().toEqualTypeOf<{
      readonly [Name in keyof typeof decided]?: never;
    }>();
    expect(() => create({ [name]: value })).toThrow(new RegExp(`${name} is not (a setting|supported)`));
    expect(() => create({ extraBody: { [name]: value } })).toThrow(new RegExp(`${name} is not (a setting|supported)`));
  },
);

test("further members go under extraBody, and nowhere else", () => {
  expectTypeOf<OpenaiResponsesOptions>().not.toHaveProperty("top_k");
  expect(create({ extraBody: { top_k: 1 } }).settings).toEqual({ model: "m", top_k: 1 });
  // @ts-expect-error: no option of that name.
  expect(() => create({ top_k: 1 })).toThrow("Other members of the request body go under extraBody");
});
