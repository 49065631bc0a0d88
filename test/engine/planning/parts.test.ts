import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/base/json.ts";
import { Block } from "../../../src/domain/block.ts";
import {
  assistant,
  audio,
  file,
  image,
  system,
  text,
  toolCall,
  toolResult,
  user,
} from "../../../src/domain/make-block.ts";
import { Turn } from "../../../src/domain/turn.ts";
import { shapedBlocks } from "../../../src/engine/planning/build-request.ts";
import { shape } from "../../../src/engine/planning/shape.ts";
import type { Codec } from "../../../src/engine/ports/codec.ts";
import { aiSdkCodec } from "../../../src/providers/ai-sdk/ai-sdk-codec.ts";
import { messagesCodec } from "../../../src/providers/anthropic/messages-codec.ts";
import { chatCodecs } from "../../../src/providers/chat/chat-codec.ts";
import { claudeCliCodec } from "../../../src/providers/claude-cli/claude-cli-codec.ts";
import { geminiCodec } from "../../../src/providers/google/gemini-codec.ts";
import { interactionsCodec } from "../../../src/providers/google/interactions-codec.ts";
import { ollamaCodec } from "../../../src/providers/ollama/ollama-codec.ts";
import { responsesCodec } from "../../../src/providers/responses/responses-codec.ts";
import { freshBlockId } from "../../support/planning/exchange.ts";
import { fullRequest } from "../../support/planning/offline-turns.ts";

const codecs = {
  responses: responsesCodec,
  "chat of OpenAI": chatCodecs.openai,
  "chat of Mistral": chatCodecs.mistral,
  anthropic: messagesCodec,
  gemini: geminiCodec,
  interactions: interactionsCodec,
  ollama: ollamaCodec,
  "claude-cli": claudeCliCodec,
  "ai-sdk": aiSdkCodec,
} as const satisfies Readonly<Record<string, Codec>>;
type Wire = keyof typeof codecs;
const wires = Object.keys(codecs) as readonly Wire[];

const data = "data:image/png;base64,aGk=";
const pdf = "data:application/pdf;base64,aGk=";
const parts = {
  text: text("Look."),
  "image of data": image(data),
  "image at an address": image("https://a.example/i.png"),
  "image under an id": { type: "image", fileId: "file-1" },
  "PDF of data": file({ name: "a.pdf", data: pdf }),
  "file at an address": { type: "file", url: "https://a.example/a.pdf" },
  "file under an id": file({ fileId: "file-1" }),
  audio: audio("aGk=", "wav"),
  refusal: { type: "refusal", refusal: "No." },
  video: { type: "video", url: "https://a.example/a.mp4" },
} as const satisfies Readonly<Record<string, JsonObject>>;
type PartName = keyof typeof parts;
const partNames = Object.keys(parts) as readonly PartName[];

const recorded = (...drafts: readonly Block[]): Turn => Turn.of(drafts.map((draft) => draft.withId(freshBlockId())));

function planned(turn: Turn, codec: Codec) {
  const options = { ...fullRequest, codec };
  const repairs = shape(turn, 0, options);
  return { repairs, sent: shapedBlocks(turn, 0, repairs, options).map(({ block }) => block) };
}

const call = toolCall({ callId: "toolu0001", name: "look", arguments: "{}" });
const result = (...output: readonly JsonObject[]): Block => toolResult({ callId: "toolu0001", output });

const typeOf = ({ type }: JsonObject): string => (typeof type === "string" ? type : "unknown");

type Speaker = "user" | "assistant" | "system" | "tool_result";
const speakers = ["user", "assistant", "system", "tool_result"] as const;
/** What a tool gives is a list of parts where each is one of ours; else it is data. */
const sayableBy = (speaker: Speaker): readonly PartName[] =>
  speaker === "tool_result" ? partNames.filter((name) => name !== "refusal" && name !== "video") : partNames;

const makers: Readonly<Record<Speaker, (content: readonly JsonObject[]) => Block>> = {
  user,
  assistant,
  system,
  tool_result: (content) => result(...content),
};

const only = (...names: readonly PartName[]): ReadonlySet<PartName> => new Set(names);
const allBut = (...names: readonly PartName[]): ReadonlySet<PartName> =>
  new Set(partNames.filter((name) => !names.includes(name)));

const ofGoogle = allBut("image under an id", "file under an id", "video");
const ofChat = {
  user: allBut("image under an id", "file at an address", "refusal", "video"),
  assistant: only("text", "refusal"),
  system: only("text"),
  tool_result: only("text"),
};
const ofAiSdk = allBut("image under an id", "file under an id", "refusal", "video");
const ofOllama = only("text", "image of data");

/** What each wire can say, as docs/HANDOFF.md has it. A part of an unknown type may be one of OpenAI's own. */
const sayable: Readonly<Record<Wire, Readonly<Record<Speaker, ReadonlySet<PartName>>>>> = {
  responses: {
    ...{ user: allBut("refusal"), assistant: only("text", "refusal", "video"), system: allBut("refusal") },
    tool_result: allBut(),
  },
  ...{ "chat of OpenAI": ofChat, "chat of Mistral": ofChat },
  anthropic: {
    ...{ user: allBut("audio", "refusal", "video"), assistant: only("text"), system: only("text") },
    tool_result: allBut("audio", "refusal"),
  },
  gemini: { user: ofGoogle, assistant: ofGoogle, system: ofGoogle, tool_result: ofGoogle },
  interactions: { user: ofGoogle, assistant: ofGoogle, system: ofGoogle, tool_result: ofGoogle },
  ollama: { user: ofOllama, assistant: only("text"), system: only("text"), tool_result: ofOllama },
  "claude-cli": {
    ...{ user: only("text", "image of data", "image at an address"), assistant: allBut(), system: allBut() },
    tool_result: allBut(),
  },
  "ai-sdk": { user: ofAiSdk, assistant: only("text"), system: only("text"), tool_result: ofAiSdk },
};

describe.each(wires)("on the wire of %s", (wire) => {
  test.each(speakers)("a %s goes without the parts that it cannot say", (speaker) => {
    const names = sayableBy(speaker);
    const turn = recorded(user("Go."), call, makers[speaker](names.map((name) => parts[name])));
    const cut = planned(turn, codecs[wire]).repairs.find(({ rule }) => rule === "omit-parts")?.detail["parts"] ?? [];
    const expected = names.flatMap((name, place) => (sayable[wire][speaker].has(name) ? [] : [place]));
    expect(cut).toEqual(expected);
  });

  test("every part that is said, and no other, is in what is sent, and to send that again changes nothing", () => {
    const contents = fc.array(fc.constantFrom(...partNames), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(contents, fc.constantFrom(...speakers), (drawn, kind) => {
        const names = drawn.filter((name) => sayableBy(kind).includes(name));
        fc.pre(names.length > 0);
        const content = names.map((name) => parts[name]);
        const turn = recorded(
          user("Go."),
          ...(kind === "tool_result" ? [call] : []),
          makers[kind](content),
          user("On."),
        );
        const { repairs, sent } = planned(turn, codecs[wire]);
        const allowed = sayable[wire][kind];
        const kept = names.filter((name) => allowed.has(name)).map((name) => parts[name]);
        const found = sent.slice(1, -1).find((block) => block.kind === kind);
        const instead = `[not shown: ${content.map(typeOf).join(", ")}]`;
        if (kept.length === 0 && kind !== "tool_result") expect(found).toBeUndefined();
        else if (kept.length === 0) expect(found?.payload["output"]).toBe(instead);
        else expect(found?.payload[kind === "tool_result" ? "output" : "content"]).toEqual(kept);
        const again = planned(Turn.of(sent), codecs[wire]);
        expect(again.sent.map(({ payload }) => payload)).toEqual(sent.map(({ payload }) => payload));
        expect(again.repairs.filter(({ rule }) => rule.startsWith("omit"))).toEqual([]);
        // What is behind a block does not change what is left out of it.
        const shorter = shape(turn.slice(turn.length - 1), 0, { ...fullRequest, codec: codecs[wire] });
        const cuts = (all: typeof repairs) => all.filter(({ rule }) => rule === "omit-parts");
        expect(cuts(shorter)).toEqual(cuts(repairs));
      }),
      { numRuns: 60 },
    );
  });
});

test("parts of the Messages API's own go there as they are, and one of a type that it has not is left out", () => {
  const own = [
    { type: "document", source: { type: "text", media_type: "text/plain", data: "Long." } },
    { type: "search_result", source: "https://a.example", title: "A", content: [{ type: "text", text: "Found." }] },
    { type: "container_upload", file_id: "file_1" },
  ];
  const turn = recorded(user([text("Look."), ...own, parts.video]));
  const { repairs, sent } = planned(turn, messagesCodec);
  expect(repairs).toMatchObject([{ rule: "omit-parts", index: 0, detail: { parts: [4], reason: "unsendable" } }]);
  const input = sent.map((block) => ({ block, withId: false }));
  const body = messagesCodec.encodeRequest({ settings: { model: "m" }, input, anchor: null, transport: "json" });
  expect(JSON.parse(body)).toMatchObject({ messages: [{ content: [{ type: "text", text: "Look." }, ...own] }] });
});

/** What a tool gave that is neither a text nor a list of our parts. */
const values = {
  "a list of numbers": [1, { type: 2 }],
  "an object": { sky: "blue" },
  "parts of a type that nobody knows": [{ type: "video", url: "https://a.example/a.mp4" }],
  "such a part among others": [text("See:"), { type: "video" }],
  "parts of Anthropic's results": [{ type: "tool_reference", tool_name: "look" }],
} as const satisfies Readonly<Record<string, JsonValue>>;
const valueNames = Object.keys(values) as readonly (keyof typeof values)[];

/** Wires whose results are texts or lists of parts: there a value is the text of its JSON, and that is on record. */
const saysAsText: ReadonlySet<Wire> = new Set([
  "responses",
  "chat of OpenAI",
  "chat of Mistral",
  "anthropic",
  "ollama",
]);

/** A text in the form that it has within JSON. */
const quoted = (text: string): string => JSON.stringify(text).slice(1, -1);

describe.each(wires)("on the wire of %s", (wire) => {
  test.each(valueNames)(
    "%s that a tool gave is one value: it is said, and never as if the tool was aborted",
    (name) => {
      const codec: Codec = codecs[wire];
      const turn = recorded(user("Go."), call, toolResult({ callId: "toolu0001", output: values[name] }), user("On."));
      const { repairs, sent } = planned(turn, codec);
      expect(repairs.filter(({ rule }) => rule === "omit-parts" || rule === "omit" || rule === "answer")).toEqual([]);
      const input = sent.map((block) => ({ block, withId: false }));
      const body = codec.encodeRequest({ settings: { model: "m" }, input, anchor: null, transport: "json" });
      // As JSON, or as the text of it; the CLI has it within a text within its standard input.
      const said = JSON.stringify(values[name]);
      const forms = [said, quoted(said), quoted(quoted(said))];
      expect(forms.some((form) => body.includes(form))).toBe(true);
      const isOwn = wire === "anthropic" && name === "parts of Anthropic's results";
      const told = repairs.map(({ rule, index, detail }) => ({ rule, index, detail }));
      if (saysAsText.has(wire) && !isOwn)
        expect(told).toContainEqual({ rule: "restate", index: 2, detail: { reason: "result-as-json" } });
      else if (wire === "ai-sdk") expect(told.filter(({ rule }) => rule === "restate")).toEqual([]);
    },
  );
});

/** Wires whose servers keep files under ids of their own, by an endpoint of each. */
const keepers = {
  responses: "openai-responses https://api.openai.com/v1 organization= project= codec=openai-responses owner=1",
  "chat of Mistral": "mistral https://api.mistral.ai/v1 organization= project= codec=mistral owner=2",
  anthropic: "anthropic-messages https://api.anthropic.com organization= project= codec=anthropic-messages owner=3",
} as const satisfies Partial<Record<Wire, string>>;
const keeperNames = ["responses", "chat of Mistral", "anthropic"] as const satisfies readonly (keyof typeof keepers)[];
const google = "google-gemini https://generativelanguage.googleapis.com/v1beta codec=google-gemini owner=4";
const stored = user([text("Read."), parts["file under an id"], parts["image under an id"]]);

/** The file, and what an endpoint answered behind it. */
const answeredBy = (scope: string): Turn =>
  Turn.of([
    stored.withId(freshBlockId()),
    assistant("I have.").withId(freshBlockId()).withWire({ scope }),
    user("And?").withId(freshBlockId()),
  ]);

function sentTo(wire: Wire, scope: string, turn: Turn): readonly Block[] {
  const options = { ...fullRequest, codec: codecs[wire], scope };
  return shapedBlocks(turn, 0, shape(turn, 0, options), options).map(({ block }) => block);
}

describe("a file that a server keeps under an id", () => {
  const pairs = keeperNames.flatMap((from) => keeperNames.map((to) => [from, to] as const));
  test.each(pairs)("that answered on the wire of %s is sent on the wire of %s, if that is the same", (from, to) => {
    const [first] = sentTo(to, keepers[to], answeredBy(keepers[from]));
    if (from !== to) expect(first?.parts).toEqual([text("Read.")]);
    // As it was but for what the wire has no form for at all.
    else
      expect(first?.parts).toEqual(stored.parts.filter((part) => codecs[to].unsendablePart?.(part, stored) === null));
  });

  test.each(keeperNames)("goes to every provider of the wire %s until one has answered", (to) => {
    const [first] = sentTo(to, keepers[to], recorded(stored));
    expect(first?.parts).toContainEqual(parts["file under an id"]);
  });

  test("is one server's on all wires of it, for all keys, and not another account's", () => {
    const turn = answeredBy(keepers.responses);
    const file = parts["file under an id"];
    const chat = keepers.responses.replaceAll("openai-responses", "openai-chat").replace("owner=1", "owner=5");
    expect(sentTo("chat of OpenAI", chat, turn)[0]?.parts).toContainEqual(file);
    expect(sentTo("chat of OpenAI", chat.replace("project=", "project=other"), turn)[0]?.parts).toEqual([
      text("Read."),
    ]);
  });

  test("of a block that came from an endpoint belongs to that endpoint, whichever endpoint answers", () => {
    const imported = Turn.of([stored.withId(freshBlockId()).withWire({ scope: keepers.anthropic })]);
    expect(sentTo("responses", keepers.responses, imported)[0]?.parts).toEqual([text("Read.")]);
    expect(sentTo("anthropic", keepers.anthropic, imported)[0]?.parts).toEqual(stored.parts);
  });

  test("is said not to be shown, where a tool gave nothing else", () => {
    const turn = Turn.of([
      ...[user("Go."), call, result(parts["file under an id"])].map((block) => block.withId(freshBlockId())),
      assistant("I have.").withId(freshBlockId()).withWire({ scope: keepers.anthropic }),
    ]);
    expect(sentTo("responses", keepers.responses, turn)[2]?.payload["output"]).toBe("[not shown: file]");
    expect(sentTo("anthropic", keepers.anthropic, turn)[2]?.payload["output"]).toEqual([parts["file under an id"]]);
  });
});

describe("a file that Google keeps, by its address", () => {
  const addresses = ["https://generativelanguage.googleapis.com/v1beta/files/abc", "gs://bucket/a.pdf"];
  const turn = recorded(user([text("Read."), ...addresses.map((url) => ({ type: "file", url }))]));
  const googles: readonly Wire[] = ["gemini", "interactions"];
  // The AI SDK has models of Google, too.
  const others = wires.filter((wire) => !googles.includes(wire) && wire !== "ai-sdk");

  test.each(googles)("goes as it is on the wire of %s", (wire) => {
    expect(sentTo(wire, google, turn)[0]?.parts).toEqual(turn.blocks[0]?.parts);
  });

  test.each(others)("is left out on the wire of %s", (wire) => {
    expect(sentTo(wire, "other https://here.example/v1", turn)[0]?.parts).toEqual([text("Read.")]);
  });
});

test("an answer that is sent without a part is not the one that its endpoint gave: its reasoning stays behind", () => {
  const wire = { scope: fullRequest.scope };
  const group = (index: number) => ({ ...wire, group: { id: "inf_1", index, size: 2, stored: true } });
  const thought = new Block({
    ...{ id: freshBlockId(), kind: "reasoning", payload: { type: "reasoning" } },
    wire: { ...group(0), itemId: "rs_1", ciphertext: "sealed" },
  });
  const answer = (content: readonly JsonObject[]) =>
    new Block({
      ...{ id: freshBlockId(), kind: "assistant", payload: { role: "assistant", content } },
      wire: { ...group(1), itemId: "msg_1" },
    });
  const kinds = (block: Block) =>
    planned(
      Turn.of([user("Go.").withId(freshBlockId()), thought, block, user("On.").withId(freshBlockId())]),
      responsesCodec,
    ).sent.map(({ kind }) => kind);
  expect(kinds(answer([text("Here.")]))).toEqual(["user", "reasoning", "assistant", "user"]);
  expect(kinds(answer([text("Here."), parts["image of data"]]))).toEqual(["user", "assistant", "user"]);
});
