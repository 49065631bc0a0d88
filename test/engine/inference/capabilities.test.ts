import { describe, expect, onTestFinished, test } from "vitest";
import {
  type Fault,
  message,
  type ReferenceServer,
  type ReferenceServerOptions,
  reasoning,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import { isJsonObject } from "../../../src/base/json.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import type { OpenaiResponsesOptions } from "../../../src/providers/responses/responses-options.ts";
import { createWorkshop, dataOf, eventsOf } from "../../support/workshop.ts";

type Talk = {
  readonly server: ReferenceServer;
  readonly workshop: ReturnType<typeof createWorkshop>;
  /** Says something, by a new engine each time: what one has learnt is known to the next by the log alone. */
  readonly say: (text: string | null, options?: Partial<OpenaiResponsesOptions>) => Promise<readonly string[]>;
};

async function talkTo(dialect: ReferenceServerOptions): Promise<Talk> {
  const server = await startReferenceServer(dialect);
  onTestFinished(() => server[Symbol.asyncDispose]());
  const workshop = createWorkshop();
  return {
    server,
    workshop,
    async say(text, options = {}) {
      const before = server.requests.length;
      if (text !== null) await workshop.conversation.append(text);
      const provider = openaiResponses({
        model: "m",
        baseURL: server.baseUrl,
        apiKey: "key",
        transport: "json",
        ...options,
      });
      await workshop.conversation.run(createEngine({ provider }), { again: text === null });
      return server.requests.slice(before).map(({ bodyText, status }) => {
        const how = bodyText.includes('"previous_response_id"') ? "chained" : "full";
        return `${how}${status === 200 ? "" : ` ${status}`}`;
      });
    },
  };
}

const learnt = async ({ workshop }: Talk) =>
  dataOf(await eventsOf(workshop.conversation), "CapabilityLearned").map(({ capability, value }) => [
    capability,
    value,
  ]);

/** What it does to each of four messages, and what is learnt. The last is by an engine that is told that it can. */
type Dialect = {
  readonly name: string;
  readonly dialect: ReferenceServerOptions;
  readonly can: Partial<OpenaiResponsesOptions>;
  readonly sent: readonly (readonly string[])[];
  readonly learns: readonly unknown[];
};

test.each<Dialect>([
  {
    name: "that chains",
    dialect: {},
    can: {},
    sent: [["full"], ["chained"], ["chained"], ["chained"]],
    learns: [],
  },
  {
    name: "that refuses to chain",
    dialect: { noChain: "http-detail" },
    can: { capabilities: { chain: true } },
    sent: [["full"], ["chained 400", "full"], ["full"], ["chained 400", "full"]],
    learns: [["chain", false]],
  },
  {
    name: "that retains nothing",
    dialect: { zdr: true },
    can: { capabilities: { chain: true } },
    sent: [["full"], ["chained 400", "full"], ["full"], ["chained 400", "full"]],
    learns: [["chain", false]],
  },
  {
    name: "that ignores the id",
    dialect: { noChain: "ignored" },
    can: { capabilities: { chain: true } },
    sent: [["full"], ["chained"], ["full"], ["chained"]],
    learns: [["chain", false]],
  },
  {
    name: "that says that it stores, and does not",
    dialect: { neverStores: true },
    can: { capabilities: { chain: false } },
    // A response that is not found says nothing of the next one.
    sent: [["full"], ["chained 400", "full"], ["chained 400", "full"], ["full"]],
    learns: [],
  },
])("an endpoint $name is asked as it can be, and as the caller says", async ({ dialect, can, sent, learns }) => {
  const talk = await talkTo(dialect);
  const asked = [await talk.say("one"), await talk.say("two"), await talk.say("three"), await talk.say("four", can)];
  expect(asked).toEqual(sent);
  expect(await learnt(talk)).toEqual(learns);
});

test("what the caller says of an endpoint is not unlearnt by what it refuses", async () => {
  const talk = await talkTo({ noChain: "http-detail" });
  const can = { capabilities: { chain: true } };
  expect(await talk.say("one", can)).toEqual(["full"]);
  expect(await talk.say("two", can)).toEqual(["chained 400", "full"]);
  expect(await learnt(talk)).toEqual([]);
  expect(await talk.say("three")).toEqual(["chained 400", "full"]);
  expect(await learnt(talk)).toEqual([["chain", false]]);
});

describe("an endpoint that says what it continues from and leaves the context out", () => {
  const lying: ReferenceServerOptions = {
    noChain: "ignored",
    answer: () => ({ output: [message("word ".repeat(40))] }),
    faults: ({ body }): Fault | undefined => {
      const id = isJsonObject(body) ? body["previous_response_id"] : undefined;
      return typeof id === "string" ? { kind: "echo", previousResponseId: id } : undefined;
    },
  };

  test("is found out by the tokens that it counts", async () => {
    const talk = await talkTo(lying);
    expect(await talk.say("one ".repeat(60))).toEqual(["full"]);
    expect(await talk.say("two")).toEqual(["chained"]);
    expect(await talk.say("three")).toEqual(["full"]);
    const [lesson] = dataOf(await eventsOf(talk.workshop.conversation), "CapabilityLearned");
    expect(lesson).toMatchObject({ capability: "chain", value: false });
    expect(lesson?.reason).toMatch(/^it counted \d+ tokens, where what it was asked to continue from had \d+$/);
  });

  test("is reported as a loss of the run, and its answer is never continued from", async () => {
    const talk = await talkTo(lying);
    await talk.say("one ".repeat(60));
    await talk.workshop.conversation.append("two");
    const provider = openaiResponses({ model: "m", baseURL: talk.server.baseUrl, apiKey: "key", transport: "json" });
    const { losses, steps } = await talk.workshop.conversation.run(createEngine({ provider }));
    const { inferenceId, responseId } = steps[0] ?? {};
    expect(losses).toEqual([{ kind: "suspect-answer", frame: "0", inferenceId }]);
    const can = { capabilities: { chain: true } };
    expect(await talk.say("three", can)).toEqual(["chained"]);
    expect(talk.server.requests.at(-1)?.bodyText).not.toContain(responseId);
  });

  test.each<[string, Partial<OpenaiResponsesOptions>]>([
    ["its count is said to tell nothing", { capabilities: { counts: "none" } }],
    ["it may shorten the context by right", { truncation: "auto" }],
    ["it was asked by other settings", { instructions: "Be brief." }],
  ])("is believed where %s", async (_, options) => {
    const talk = await talkTo(lying);
    await talk.say("one ".repeat(60), "truncation" in options ? options : {});
    expect(await talk.say("two", options)).toEqual(["chained"]);
    expect(await learnt(talk)).toEqual([]);
  });

  test("is believed if the context has reasoning, which servers may leave out", async () => {
    const talk = await talkTo({ ...lying, answer: () => ({ output: [reasoning(), message("word ".repeat(40))] }) });
    await talk.say("one ".repeat(60));
    await talk.say("two");
    expect(await learnt(talk)).toEqual([]);
  });
});

describe("a request that would bring nothing new", () => {
  const probing = { capabilities: { emptyInput: "probe" } } as const;

  test("is sent whole where nothing else is known", async () => {
    const talk = await talkTo({});
    await talk.say("one");
    expect(await talk.say(null)).toEqual(["full"]);
  });

  test("is tried once where that is to be found out, and learnt to be refused", async () => {
    const talk = await talkTo({});
    await talk.say("one", probing);
    expect(await talk.say(null, probing)).toEqual(["chained 400", "full"]);
    // From before the answer on there is something to bring: that answer.
    expect(await talk.say(null, probing)).toEqual(["chained"]);
    expect(await learnt(talk)).toEqual([["emptyInput", false]]);
    expect(await talk.say(null, { capabilities: { emptyInput: true } })).toEqual(["chained 400", "chained"]);
  });

  test("is chained without input where the endpoint takes it", async () => {
    const talk = await talkTo({ acceptsEmptyInput: true });
    await talk.say("one", probing);
    expect(await talk.say(null, probing)).toEqual(["chained"]);
    expect(await learnt(talk)).toEqual([]);
  });
});
