import { scripted } from "../../../src/entries/testing.ts";
import { createEngine, toolLoop } from "../../../src/index.ts";
import { engine, layer, type Mistake, odd, weather } from "./mistake.ts";

const provider = { name: "mine" };

/** Engines, and what they are made of. */
export const engineMistakes: readonly Mistake[] = [
  [
    "createEngine({ midleware })",
    () => engine({ midleware: [] }),
    "createEngine has no option 'midleware': did you mean 'middleware'?",
  ],
  [
    "createEngine({ model })",
    () => engine({ model: "gpt" }),
    "createEngine has no option 'model': give it to the provider, or to run",
  ],
  [
    "createEngine({ system })",
    () => engine({ system: "Be brief." }),
    "createEngine has no option 'system': give it to the provider, or to run",
  ],
  [
    "createEngine({ apiKey })",
    () => engine({ apiKey: "sk" }),
    "createEngine has no option 'apiKey': give it to the provider",
  ],
  [
    "createEngine(provider)",
    () => createEngine(odd(scripted([]))),
    "createEngine takes an object of options, not a provider: write createEngine({ provider })",
  ],
  [
    "createEngine({}) without provider",
    () => engine({ provider: undefined }),
    "createEngine has no provider: give openaiResponses({ model }), scripted([…]), or your own provider",
  ],
  [
    "createEngine({ provider: openaiResponses })",
    () => engine({ provider: () => null }),
    "createEngine: provider is a function: give openaiResponses({ model }), scripted([…]), or your own provider",
  ],
  [
    "createEngine({ provider: 'gpt' })",
    () => engine({ provider: "gpt" }),
    "createEngine: provider is a text: give openaiResponses({ model }), scripted([…]), or your own provider",
  ],
  [
    "createEngine({ provider: { name } })",
    () => engine({ provider }),
    "createEngine: provider is not a provider, it lacks scope, codec, capabilities, transport, settings, infer: give openaiResponses({ model }), scripted([…]), or your own provider",
  ],
  [
    "createEngine({ tools: { weather } })",
    () => engine({ tools: { weather: weather() } }),
    "createEngine: tools is an object, not a list: write tools: [weather]",
  ],
  [
    "createEngine({ tools: [execute] })",
    () => engine({ tools: [() => "sunny"] }),
    "createEngine: tools[0] is a function: write tool({ name, description, inputSchema, execute })",
  ],
  [
    "createEngine({ tools: [{ name, execute }] })",
    () => engine({ tools: [{ name: "weather", execute: () => "" }] }),
    "createEngine: tools[0] is an object that tool() did not make: write tool({ name, description, inputSchema, execute })",
  ],
  [
    "two tools of one name",
    () => engine({ tools: [weather(), weather()] }),
    "createEngine: two tools are named 'weather': rename one, so that the model can tell them apart",
  ],
  [
    "a tool's name with blanks",
    () => engine({ tools: [weather({ name: "the weather" })] }),
    "createEngine: tools[0] is named 'the weather', but models accept only names of 1 to 64 letters, digits, _ and -",
  ],
  [
    "a tool's name of 65 letters",
    () => engine({ tools: [weather({ name: "w".repeat(65) })] }),
    "createEngine: tools[0] is named 'wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww', but models accept only names of 1 to 64 letters, digits, _ and -",
  ],
  [
    "a tool without description",
    () => engine({ tools: [weather({ description: undefined })] }),
    "createEngine: tools[0], 'weather': description is undefined: give a text that tells the model what the tool is for",
  ],
  [
    "a tool's time limit that is none",
    () => engine({ tools: [weather({ timeoutMs: Number.NaN })] }),
    "the limit of tool weather is NaN ms: give 1 to 2147483647 ms",
  ],
  [
    "a tool's time limit as a text",
    () => engine({ tools: [weather({ timeoutMs: "60" })] }),
    "the limit of tool weather is a text: give milliseconds",
  ],
  [
    "tools beside a toolLoop",
    () => engine({ tools: [weather()], middleware: [toolLoop([])] }),
    "createEngine: tools has no effect beside a toolLoop in middleware: give it to the toolLoop",
  ],
  [
    "maxSteps beside a toolLoop",
    () => engine({ maxSteps: 3, middleware: [toolLoop([weather()])] }),
    "createEngine: maxSteps has no effect beside a toolLoop in middleware: give it to the toolLoop",
  ],
  [
    "createEngine({ middleware: logging() })",
    () => engine({ middleware: layer() }),
    "createEngine: middleware is an object, not a list: write middleware: [logging()]",
  ],
  [
    "createEngine({ middleware: [logging] })",
    () => engine({ middleware: [layer] }),
    "createEngine: middleware[0] is a function: call it if it returns a layer, or turn it into one with defineMiddleware({ name, version }, (next) => async (turn, ctx) => …)",
  ],
  [
    "createEngine({ middleware: [undefined] })",
    () => engine({ middleware: [undefined] }),
    "createEngine: middleware[0] is undefined, not a layer: make one with defineMiddleware({ name, version }, (next) => async (turn, ctx) => …)",
  ],
  [
    "createEngine({ middleware: [[layer]] })",
    () => engine({ middleware: [[layer()]] }),
    "createEngine: middleware[0] is a list, not a layer: make one with defineMiddleware({ name, version }, (next) => async (turn, ctx) => …)",
  ],
  [
    "createEngine({ middleware: [{ name, handle }] })",
    () => engine({ middleware: [{ name: "x", handle: () => null }] }),
    "createEngine: middleware[0] is an object, not a layer: make one with defineMiddleware({ name, version }, (next) => async (turn, ctx) => …)",
  ],
  [
    "a layer's version that is none",
    () => engine({ middleware: [{ ...layer(), version: "latest" }] }),
    "createEngine: middleware[0]: the version of 'mine' is 'latest': give one such as \"1.0.0\"",
  ],
  [
    "a layer without name",
    () => engine({ middleware: [{ ...layer(), name: "" }] }),
    "createEngine: middleware[0]: name is an empty text: give the layer's name in the log",
  ],
  [
    "two layers of one name",
    () => engine({ middleware: [layer(), layer()] }),
    "createEngine: two layers are named 'mine': rename one, so that the log can tell them apart",
  ],
  [
    "createEngine({ chain: 'atuo' })",
    () => engine({ chain: "atuo" }),
    "createEngine: chain is 'atuo', not an object of options: write mode: \"chained\"",
  ],
  [
    "createEngine({ mode: 'atuo' })",
    () => engine({ mode: "atuo" }),
    "createEngine: mode is 'atuo': did you mean 'auto'?",
  ],
  [
    "createEngine({ mode: 'never' })",
    () => engine({ mode: "never" }),
    "createEngine: mode is 'never': did you mean 'stateless'?",
  ],
  [
    "createEngine({ chain: 'require' })",
    () => engine({ chain: "require" }),
    "createEngine: chain is 'require', not an object of options: write chain: { require: true }",
  ],
  [
    "createEngine({ chain: { mode: 'never' } })",
    () => engine({ chain: { mode: "never" } }),
    "createEngine's chain has no option 'mode': give mode beside chain",
  ],
  [
    "createEngine({ chain: { require: 'always' } })",
    () => engine({ chain: { require: "always" } }),
    "createEngine: chain.require is a text: give true or false",
  ],
  [
    "createEngine({ chain: true })",
    () => engine({ chain: true }),
    "createEngine's chain takes an object of options, not a boolean",
  ],
  [
    "createEngine({ chain: { maxAge } })",
    () => engine({ chain: { maxAge: 5 } }),
    "createEngine's chain has no option 'maxAge': did you mean 'maxAgeMs'?",
  ],
  [
    "createEngine({ chain: { maxAgeMs: Infinity } })",
    () => engine({ chain: { maxAgeMs: Number.POSITIVE_INFINITY } }),
    "createEngine: chain.maxAgeMs is Infinity: give milliseconds",
  ],
  [
    "createEngine({ chain: { onRefused: 'retry' } })",
    () => engine({ chain: { onRefused: "retry" } }),
    "createEngine: chain.onRefused is 'retry': give 'fallback' or 'throw'",
  ],
  [
    "createEngine({ chain: { onSettingsChange: { model: 'rebase' } } })",
    () => engine({ chain: { onSettingsChange: { model: "rebase" } } }),
    "createEngine: chain.onSettingsChange.model is 'rebase': give 'chain' or 'full'",
  ],
  [
    "createEngine({ chain: { onSettingsChange: 'full' } })",
    () => engine({ chain: { onSettingsChange: "full" } }),
    'createEngine: chain.onSettingsChange is a text: write { model: "full" }',
  ],
  [
    "createEngine({ maxSteps: Infinity })",
    () => engine({ maxSteps: Number.POSITIVE_INFINITY }),
    "createEngine: maxSteps is Infinity: give a whole number of at least 1",
  ],
  [
    "createEngine({ maxSteps: 0 })",
    () => engine({ maxSteps: 0 }),
    "createEngine: maxSteps is 0: give a whole number of at least 1",
  ],
  [
    "createEngine({ layerTimeoutMs: NaN })",
    () => engine({ layerTimeoutMs: Number.NaN }),
    "the limit of a layer is NaN ms: give 1 to 2147483647 ms",
  ],
  [
    "createEngine({ stuckAfterMs: '30 s' })",
    () => engine({ stuckAfterMs: "30 s" }),
    "the limit of an idle re-execution is a text: give milliseconds",
  ],
  [
    "createEngine({ takeoverAfterMs: Infinity })",
    () => engine({ takeoverAfterMs: Number.POSITIVE_INFINITY }),
    "createEngine: takeoverAfterMs is Infinity: give milliseconds",
  ],
  [
    "createEngine({ retry: { retries } })",
    () => engine({ retry: { retries: 2 } }),
    "createEngine's retry has no option 'retries': did you mean 'maxRetries'?",
  ],
  [
    "createEngine({ retry: { maxRetries: NaN } })",
    () => engine({ retry: { maxRetries: Number.NaN } }),
    "retry.maxRetries is NaN: give a whole number from 0 to 100",
  ],
  [
    "createEngine({ retry: { unknownOutcome: -1 } })",
    () => engine({ retry: { unknownOutcome: -1 } }),
    "retry.unknownOutcome is -1: give a whole number from 0 to 100",
  ],
  [
    "createEngine({ onLostResponse: 'again' })",
    () => engine({ onLostResponse: "again" }),
    "createEngine: onLostResponse is 'again': give 'retry' or 'fail'",
  ],
  [
    "createEngine({ onInDoubt: 'rerun' })",
    () => engine({ onInDoubt: "rerun" }),
    "createEngine: onInDoubt is a text: give a function",
  ],
  [
    "createEngine({ onToolError: 'sorry' })",
    () => engine({ onToolError: "sorry" }),
    "createEngine: onToolError is a text: give a function",
  ],
  [
    "createEngine({ observers: console.log })",
    () => engine({ observers: () => undefined }),
    "createEngine: observers is a function, not a list: write observers: [{ next }]",
  ],
  [
    "createEngine({ observers: [console.log] })",
    () => engine({ observers: [() => undefined] }),
    "createEngine: observers[0] is a function, not an observer: give { next: (part) => … }, or an RxJS Subject",
  ],
  ["createEngine({ clock: Date.now() })", () => engine({ clock: 5 }), "createEngine: clock is 5: give a function"],
];
