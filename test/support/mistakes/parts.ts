import * as v from "valibot";
import * as z from "zod";
import { cache, conditional, contentFilter, recover, redact } from "../../../src/entries/layers.ts";
import { openaiResponses } from "../../../src/entries/responses.ts";
import { scripted, startReferenceServer } from "../../../src/entries/testing.ts";
import {
  assistant,
  defineMiddleware,
  ephemeral,
  file,
  image,
  lens,
  logging,
  type Next,
  type Turn,
  toolCall,
  toolLoop,
  toolResult,
  user,
} from "../../../src/index.ts";
import { conversation, engine, layer, type Mistake, odd, weather } from "./mistake.ts";

const named = { name: "mine", version: "1.0.0" };
const hide = () => user("hidden");

const newId = (prefix: string): string => `${prefix}_0000000000000001`;
const run = async (...middleware: readonly unknown[]) => (await conversation()).run(engine({ middleware, newId }));

const hasty = (next: Next) => async (turn: Turn) => {
  void next(turn);
  return turn;
};
const forgetful = (next: Next) =>
  odd(async (turn: Turn) => {
    await next(turn);
  });
const throwing = (): never => {
  const luck: unknown = "no luck";
  throw luck;
};

/** Tools, layers, providers and blocks. */
export const partMistakes: readonly Mistake[] = [
  [
    "tool({ parameters })",
    () => weather({ parameters: {} }),
    "tool has no option 'parameters': did you mean 'inputSchema'?",
  ],
  [
    "tool({ inputschema })",
    () => weather({ inputschema: {} }),
    "tool has no option 'inputschema': did you mean 'inputSchema'?",
  ],
  [
    "tool() without a schema",
    () => weather({ inputSchema: undefined }),
    "tool 'weather': inputSchema is undefined, not a schema: give z.object({ … }), or a schema of another library that supports Standard Schema",
  ],
  [
    "tool() with a JSON Schema",
    () => weather({ inputSchema: { type: "object" } }),
    "tool 'weather': inputSchema is an object, not a schema: give z.object({ … }), or a schema of another library that supports Standard Schema",
  ],
  [
    "tool() with a schema of no JSON",
    () => weather({ inputSchema: z.object({ at: z.date() }) }),
    "tool 'weather': inputSchema cannot be described to a model as JSON Schema: Date cannot be represented in JSON Schema",
  ],
  [
    "tool() with a schema that says no JSON Schema",
    () => weather({ inputSchema: v.object({ city: v.string() }) }),
    "tool 'weather': inputSchema is a schema of valibot without a JSON Schema: give one beside it, as jsonSchema",
  ],
  [
    "tool() with a text for its JSON Schema",
    () => weather({ jsonSchema: "object" }),
    "tool 'weather': inputSchema: the jsonSchema beside it is a text: give { type: \"object\", … }",
  ],
  [
    "tool() without execute",
    () => weather({ execute: undefined }),
    "tool 'weather': execute is undefined: give a function",
  ],
  [
    "tool() without a name",
    () => weather({ name: "" }),
    "tool: name is an empty text: give the name that the model calls",
  ],
  [
    "tool({ idempotent: 'yes' })",
    () => weather({ idempotent: "yes" }),
    "tool 'weather': idempotent is a text: give true or false",
  ],
  [
    "a tool whose input is a text",
    () => engine({ tools: [weather({ inputSchema: z.string() })] }),
    "createEngine: tools[0], 'weather': its input is not an object, and models accept only objects: wrap it in z.object({ … })",
  ],
  [
    "a tool whose input is a union",
    () => engine({ tools: [weather({ inputSchema: z.union([z.object({}), z.object({ a: z.string() })]) })] }),
    "createEngine: tools[0], 'weather': its input is not an object, and models accept only objects: wrap it in z.object({ … })",
  ],
  [
    "toolLoop({ weather })",
    () => toolLoop(odd({ weather: weather() })),
    "toolLoop: tools is an object, not a list: write toolLoop([weather])",
  ],
  [
    "toolLoop([], { maxIterations })",
    () => toolLoop([], odd({ maxIterations: 3 })),
    "toolLoop has no option 'maxIterations': did you mean 'maxSteps'?",
  ],
  [
    "toolLoop([], { maxSteps: 1.5 })",
    () => toolLoop([], { maxSteps: 1.5 }),
    "toolLoop: maxSteps is 1.5: give a whole number of at least 1",
  ],
  [
    "toolLoop([execute])",
    () => toolLoop([odd(() => "sunny")]),
    "toolLoop: tools[0] is a function: write tool({ name, description, inputSchema, execute })",
  ],
  [
    "defineMiddleware((next) => …)",
    () =>
      defineMiddleware(
        odd(() => null),
        odd(undefined),
      ),
    "defineMiddleware takes the layer's name first, not a function: write defineMiddleware({ name, version }, (next) => async (turn, ctx) => next(turn))",
  ],
  [
    "defineMiddleware({ nmae })",
    () => layer({ nmae: "mine" }),
    "defineMiddleware has no option 'nmae': did you mean 'name'?",
  ],
  [
    "defineMiddleware({ name: '' })",
    () => layer({ name: "" }),
    "defineMiddleware: name is an empty text: give the layer's name in the log",
  ],
  [
    "defineMiddleware({ version: 1 })",
    () => layer({ version: 1 }),
    "defineMiddleware: the version of 'mine' is 1: give one such as \"1.0.0\"",
  ],
  [
    "defineMiddleware({ version: 'v1' })",
    () => layer({ version: "v1" }),
    "defineMiddleware: the version of 'mine' is 'v1': give one such as \"1.0.0\"",
  ],
  [
    "defineMiddleware({ config: NaN })",
    () => layer({ config: { limit: Number.NaN } }),
    "defineMiddleware: config.limit is not JSON: NaN",
  ],
  [
    "defineMiddleware(…, (turn, next) => …)",
    () =>
      defineMiddleware(
        named,
        odd((turn: unknown, next: (turn: unknown) => unknown) => next(turn)),
      ),
    "defineMiddleware: 'mine' is a function of 2 parameters: write (next) => async (turn, ctx) => next(turn)",
  ],
  [
    "defineMiddleware({ … }) without a function",
    () => defineMiddleware(named, odd(undefined)),
    "defineMiddleware: 'mine' is undefined: write (next) => async (turn, ctx) => next(turn)",
  ],
  [
    "a layer async (turn) => turn",
    () =>
      run(
        defineMiddleware(
          named,
          odd(async (turn: unknown) => turn),
        ),
      ),
    "run run_0000000000000001 failed (not-a-handler): layer mine returned a promise for next, not a function: write (next) => async (turn, ctx) => next(turn)",
  ],
  [
    "a layer that returns nothing",
    () => run(defineMiddleware(named, forgetful)),
    "run run_0000000000000001 failed (not-a-turn): layer mine returned undefined, not a Turn: return the result of next(turn)",
  ],
  [
    "a layer that calls next()",
    () => run(defineMiddleware(named, (next) => () => next(odd(undefined)))),
    "run run_0000000000000001 failed (not-a-turn): layer mine called next with undefined, not a Turn: write next(turn)",
  ],
  [
    "a layer that does not await next",
    () => run(defineMiddleware(named, hasty)),
    "run run_0000000000000001 failed (next-not-awaited): layer mine returned before its call of next did: await next and return its result, or throw",
  ],
  [
    "a layer that throws a text",
    () => run(defineMiddleware(named, () => throwing)),
    "run run_0000000000000001 failed (layer-failed): layer mine: no luck",
  ],
  [
    "lens({ show })",
    () => lens(odd({ ...named, hide, show: hide })),
    "lens has no option 'show': give 'name', 'version', 'hide', 'restore' or 'deltas'",
  ],
  ["lens() without hide", () => lens(odd(named)), "lens 'mine': hide is undefined: give a function"],
  [
    "lens({ hide: async })",
    () => run(lens({ ...named, hide: odd(async () => user("hidden")) })),
    "run run_0000000000000001 failed (layer-failed): layer mine: lens 'mine': hide returned a promise, but must return a block synchronously: write block.withText(…)",
  ],
  [
    "lens({ hide }) that gives a text",
    () => run(lens({ ...named, hide: odd(() => "hidden") })),
    "run run_0000000000000001 failed (layer-failed): layer mine: lens 'mine': hide returned a text, but must return a block synchronously: write block.withText(…)",
  ],
  [
    "logging({ wirte })",
    () => logging(odd({ wirte: () => undefined })),
    "logging has no option 'wirte': did you mean 'write'?",
  ],
  ["logging({ write: console })", () => logging(odd({ write: {} })), "logging: write is an object: give a function"],
  ["logging(console.log)", () => logging(odd(() => undefined)), "logging takes an object of options, not a function"],
  [
    "conditional({ if })",
    () => conditional(odd({ ...named, if: () => true, layer: layer() })),
    "conditional has no option 'if': give 'name', 'version', 'when', 'layer' or 'otherwise'",
  ],
  [
    "conditional() without a condition",
    () => conditional(odd({ ...named, layer: layer() })),
    "conditional 'mine': when is undefined: give a function",
  ],
  [
    "conditional({ layer: a tool loop })",
    () => conditional({ ...named, when: () => true, layer: toolLoop([]) }),
    "conditional 'mine': layer is a tool loop, whose tools are offered with every request: list it in middleware",
  ],
  [
    "conditional({ when }) that gives nothing",
    () => run(conditional({ ...named, when: odd(() => undefined), layer: layer() })),
    "run run_0000000000000001 failed (layer-failed): layer mine: conditional 'mine': when returned undefined: return true or false",
  ],
  [
    "redact({ patterns })",
    () => redact(odd({ patterns: ["email"] })),
    "redact has no option 'patterns': give 'name', 'version', 'detect', 'strategy' or 'key'",
  ],
  [
    "redact({ detect: ['e-mail'] })",
    () => redact({ detect: [odd("e-mail")] }),
    "redact: detect[0]: turnlog has no detector 'e-mail': did you mean 'email'? Your own needs find",
  ],
  [
    "redact({ strategy: 'hash' }) without a key",
    () => redact({ detect: ["email"], strategy: "hash" }),
    "redact: detect[0] has the strategy 'hash', which needs a key: give redact({ key }), a secret text",
  ],
  [
    "redact({ detect: [find] }) that waits",
    () => run(redact({ detect: [{ kind: "name", find: odd(async () => ["Ada"]) }] })),
    "run run_0000000000000001 failed (layer-failed): layer redact: redact: detect[0]: find returned a promise: return a list of the values found in the text",
  ],
  [
    "contentFilter({ test })",
    () => contentFilter(odd({ test: () => null })),
    "contentFilter has no option 'test': give 'name', 'version', 'check', 'action', 'direction', 'outside', 'ifUnavailable' or 'replacement'",
  ],
  [
    "contentFilter({ check: async })",
    () => run(contentFilter({ check: async () => null })),
    "run run_0000000000000001 failed (layer-failed): layer content-filter: contentFilter: check returned a promise: set outside: true for a check that waits for something",
  ],
  [
    "contentFilter({ check }) that gives true",
    () => run(contentFilter({ check: odd(() => true) })),
    "run run_0000000000000001 failed (layer-failed): layer content-filter: contentFilter: check returned a boolean: return null, a reason, or { reason, values, action }",
  ],
  [
    "cache() without ttl",
    () => cache(odd({ store: new Map(), key: "secret" })),
    "cache: ttl is undefined: give a whole number of at least 1",
  ],
  [
    "cache({ store: url })",
    () => cache(odd({ store: "redis://localhost", key: "secret", ttl: 1 })),
    "cache: store is a text: give a Keyv, or an object with get(key) and set(key, value, ttl)",
  ],
  [
    "recover({ fallback })",
    () => recover(odd({ fallback: "sorry" })),
    "recover has no option 'fallback': give 'name', 'version' or 'answer'",
  ],
  [
    "recover() without an answer",
    () => recover(odd({})),
    "recover: answer is undefined: give the text to answer with, or a function of the error",
  ],
  [
    "recover({ answer }) that gives a number",
    () =>
      run(
        recover({ answer: odd(() => 7) }),
        defineMiddleware(named, () => throwing),
      ),
    "run run_0000000000000001 failed (layer-failed): layer recover: recover: answer returned 7: return a text, a block, or null",
  ],
  [
    "ephemeral('it is noon')",
    () => ephemeral(odd("it is noon")),
    'ephemeral takes a list of blocks, not a text: write [user("…")]',
  ],
  [
    "ephemeral(['it is noon'])",
    () => ephemeral(odd(["it is noon"])),
    'ephemeral: item 0 is a text, not a block: write user("…")',
  ],
  [
    "ephemeral([…], { at: 'begin' })",
    () => ephemeral([user("noon")], odd({ at: "begin" })),
    "ephemeral: at is 'begin': give 'start' or 'end'",
  ],
  [
    "ephemeral([…], { where })",
    () => ephemeral([user("noon")], odd({ where: "start" })),
    "ephemeral has no option 'where': give 'name' or 'at'",
  ],
  [
    "scripted('Hello.')",
    () => scripted(odd("Hello.")),
    'scripted takes a list of answers or a function, not a text: write scripted(["Hello."])',
  ],
  [
    "scripted([…], { tranport })",
    () => scripted([], odd({ tranport: "json" })),
    "scripted has no option 'tranport': did you mean 'transport'?",
  ],
  [
    "scripted([…], { transport: 'http' })",
    () => scripted([], odd({ transport: "http" })),
    "scripted: transport is 'http': give 'json' or 'sse'",
  ],
  [
    "a provider's setting that is NaN",
    () => engine({ provider: scripted([], { settings: { temperature: Number.NaN } }) }),
    "createEngine: provider.settings.temperature is not JSON: NaN",
  ],
  [
    "a provider's setting that is a function",
    () => engine({ provider: scripted([], { settings: odd({ tools: [() => null] }) }) }),
    "createEngine: provider.settings.tools[0] is not JSON: function",
  ],
  [
    "openaiResponses({ apikey })",
    () => openaiResponses(odd({ model: "any", apikey: "none" })),
    "openaiResponses has no option 'apikey': did you mean 'apiKey'? Other members of the request body go under extraBody",
  ],
  ["user(undefined)", () => user(odd(undefined)), "user: content is undefined: give a text or a list of parts"],
  ["user([null])", () => user([odd(null)]), 'user: content[0] is null: give a part such as { type: "text", text }'],
  ["user(['hello'])", () => user([odd("hello")]), 'user: content[0] is a text: write { type: "text", text }'],
  [
    "user([{ text }])",
    () => user([{ text: "hello" }]),
    'user: content[0] has no type: give a part such as { type: "text", text }',
  ],
  [
    "user([{ type: 'text' }])",
    () => user([{ type: "text" }]),
    "user: content[0] is of type text, and its text is undefined: give a text",
  ],
  [
    "user([{ type: 'image' }])",
    () => user([{ type: "image" }]),
    "user: content[0] is of type image, and its url is undefined: give an address, https://… or data:image/png;base64,…",
  ],
  [
    "image('./photo.png')",
    () => image("./photo.png"),
    "image: the address has no scheme: give https://…, or the content as data:image/png;base64,…",
  ],
  [
    "image(bytes)",
    () => image(odd(new Uint8Array(1))),
    "image: the address is an object: give https://…, or the content as data:image/png;base64,…",
  ],
  [
    "file({ dta })",
    () => file(odd({ name: "a.pdf", dta: "data:application/pdf;base64,AA==" })),
    "file has no option 'dta': did you mean 'data'?",
  ],
  [
    "file({ name })",
    () => file(odd({ name: "a.pdf" })),
    "file: data is undefined: give { fileId } as the provider calls it, or { name, data } with data:…;base64,…",
  ],
  [
    "startReferenceServer({ script: [{ output: [a raw item] }] })",
    () => startReferenceServer(odd({ script: [{ output: [{ type: "message", content: [] }] }] })),
    'script[0]: output[0] is a raw item of type message: write message("…"), functionCall("…", "{}") or reasoning({ summary: "…" }), and hosted(item) for one that stands as it is',
  ],
  [
    "scripted([{ call }])",
    () => scripted(odd([{ call: [] }])),
    "scripted: answers[0] has no option 'call': did you mean 'calls'?",
  ],
  [
    "startReferenceServer({ answr })",
    () => startReferenceServer(odd({ answr: () => ({ output: [] }) })),
    "startReferenceServer has no option 'answr': its type ReferenceServerOptions lists all",
  ],
  [
    "startReferenceServer({ script: 'Hello.' })",
    () => startReferenceServer(odd({ script: "Hello." })),
    "startReferenceServer: script is no list: give a list of answers",
  ],
  ["assistant(5)", () => assistant(odd(5)), "assistant: content is 5: give a text or a list of parts"],
  [
    "toolCall({ arguments: {} })",
    () => toolCall(odd({ callId: "c", name: "weather", arguments: {} })),
    "toolCall: arguments is an object: give them as JSON text",
  ],
  [
    "toolCall({ call_id })",
    () => toolCall(odd({ call_id: "c", name: "weather", arguments: "{}" })),
    "toolCall has no option 'call_id': did you mean 'callId'?",
  ],
  [
    "toolResult({ output }) without a call",
    () => toolResult(odd({ output: "sunny" })),
    "toolResult: callId is undefined: give the id of the call that it answers",
  ],
];
