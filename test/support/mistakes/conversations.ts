import { whatIf } from "../../../src/entries/replay.ts";
import { openStore } from "../../../src/index.ts";
import { conversation, engine, type Mistake, odd, weather } from "./mistake.ts";

const append = async (said: unknown, options: object = {}) => (await conversation()).append(odd(said), options);
const run = async (options: object, made: unknown = engine()) => (await conversation()).run(odd(made), options);
const actor = (kind: unknown) => append("hello", { actor: { kind } });

/** What is done with conversations. */
export const conversationMistakes: readonly Mistake[] = [
  ["run({ tools })", () => run({ tools: [] }), "run has no option 'tools': give it to createEngine"],
  ["run({ apiKey })", () => run({ apiKey: "sk" }), "run has no option 'apiKey': give it to the provider"],
  [
    "append()",
    () => append(undefined),
    "append: what is said is undefined: append takes a text, a block or { role, content }",
  ],
  ["append(5)", () => append(5), "append: what is said is 5: append takes a text, a block or { role, content }"],
  [
    "append({ content })",
    () => append({ content: "hello" }),
    "append: what is said is an object without a role: append takes a text, a block or { role, content }",
  ],
  [
    "append({ type: 'text', text })",
    () => append({ type: "text", text: "hello" }),
    "append: what is said is a part of a message: write user([part]): append takes a text, a block or { role, content }",
  ],
  [
    "append({ role: 'usr' })",
    () => append({ role: "usr", content: "hello" }),
    "append: role is 'usr': did you mean 'user'?",
  ],
  [
    "append({ role: 'function' })",
    () => append({ role: "function", content: "hello" }),
    "append: role is 'function': give 'user', 'system', 'developer', 'assistant' or 'tool'",
  ],
  [
    "append({ role: 'user' })",
    () => append({ role: "user" }),
    "append: content is undefined: give a text or a list of parts",
  ],
  [
    "append({ role, text })",
    () => append({ role: "user", text: "hello" }),
    "append: 'text' is not a member of a message of user: give 'role' or 'content'",
  ],
  [
    "append({ role: 'tool', content })",
    () => append({ role: "tool", content: "sunny" }),
    "append: tool_call_id is undefined: give the id of the call that it answers",
  ],
  [
    "append({ role: 'assistant', tool_calls: [{ name }] })",
    () => append({ role: "assistant", tool_calls: [{ name: "weather" }] }),
    "append: tool_calls[0] is not a call: give { id, function: { name, arguments } }, with arguments as JSON text",
  ],
  [
    "append({ role, content: [null] })",
    () => append({ role: "user", content: [null] }),
    'append: content[0] is null: give a part such as { type: "text", text }',
  ],
  [
    "append(['hello', 5])",
    () => append(["hello", 5]),
    "append: item 1 is 5: append takes a text, a block or { role, content }",
  ],
  [
    "append(…, { key: '' })",
    () => append("hello", { key: "" }),
    "append: key is an empty text: give the message's id, or leave it out",
  ],
  [
    "append(…, { key: 17 })",
    () => append("hello", { key: 17 }),
    "append: key is 17: give the message's id, or leave it out",
  ],
  ["append(…, { id })", () => append("hello", { id: "17" }), "append has no option 'id': give 'key' or 'actor'"],
  [
    "append(…, 'message-17')",
    () => append("hello", odd("message-17")),
    "append takes an object of options, not a text",
  ],
  [
    "append(…, { actor: { kind: 'provider' } })",
    () => actor("provider"),
    "append: actor.kind is 'provider': give 'user', 'app', 'import' or 'operator'",
  ],
  [
    "append(…, { actor: { kind: 'engine' } })",
    () => actor("engine"),
    "append: actor.kind is 'engine': give 'user', 'app', 'import' or 'operator'",
  ],
  ["append(…, { actor: { kind: 'usr' } })", () => actor("usr"), "append: actor.kind is 'usr': did you mean 'user'?"],
  [
    "append(…, { actor: 'ann' })",
    () => append("hello", { actor: "ann" }),
    'append: actor is a text: give { kind: "user" }',
  ],
  [
    "append(…, { actor: { kind: 'user', id } })",
    () => append("hello", { actor: { kind: "user", id: 5 } }),
    "append: actor has no option 'id': give 'kind' or 'name'",
  ],
  [
    "append(…, { actor: { kind: 'user', name: 5 } })",
    () => append("hello", { actor: { kind: "user", name: 5 } }),
    "append: actor.name is 5: give a text, or leave it out",
  ],
  ["run()", () => run({}, null), "run takes an engine, not null: make one with createEngine({ provider })"],
  [
    "run({ provider })",
    () => run({}, { provider: {} }),
    "run takes an engine, not an object: make one with createEngine({ provider })",
  ],
  ["run(engine, { sginal })", () => run({ sginal: null }), "run has no option 'sginal': did you mean 'signal'?"],
  [
    "run(engine, controller)",
    () => run({ signal: new AbortController() }),
    "run: signal is an object: give the signal of an AbortController",
  ],
  [
    "run(engine, { unfinished: 'finish' })",
    () => run({ unfinished: "finish" }),
    "run: unfinished is 'finish': give 'resume', 'abandon' or 'throw'",
  ],
  [
    "run(engine, { onStackChanged: 'abandoned' })",
    () => run({ onStackChanged: "abandoned" }),
    "run: onStackChanged is 'abandoned': did you mean 'abandon'?",
  ],
  ["run(engine, { takeover: 'yes' })", () => run({ takeover: "yes" }), "run: takeover is a text: give true or false"],
  [
    "run(engine, { key: '' })",
    () => run({ key: "" }),
    "run: key is an empty text: give the key that the message was appended with",
  ],
  [
    "stream(engine, { singal })",
    async () => (await conversation()).stream(engine(), odd({ singal: null })),
    "stream has no option 'singal': did you mean 'signal'?",
  ],
  [
    "step(engine, { takeOver })",
    async () => (await conversation()).step(engine(), odd({ takeOver: true })),
    "step has no option 'takeOver': did you mean 'takeover'?",
  ],
  [
    "resume(engine, { unfinished })",
    async () => (await conversation()).resume(engine(), odd({ unfinished: "no" })),
    "resume has no option 'unfinished': give 'signal', 'whileRunning', 'onStackChanged', 'onDiverged', 'takeover', 'context', 'output' or 'observers'",
  ],
  [
    "settle('charge', …) without a run",
    async () => (await conversation()).settle("charge", { how: "rerun" }),
    "'charge' is not in doubt: resume the run to see which calls are",
  ],
  [
    "relabel('title')",
    async () => (await conversation()).relabel(odd("title")),
    "relabel takes an object of options, not a text",
  ],
  [
    "relabel({ tilte })",
    async () => (await conversation()).relabel(odd({ tilte: "A talk" })),
    "relabel has no option 'tilte': did you mean 'title'?",
  ],
  [
    "relabel({ labels: { size: 5 } })",
    async () => (await conversation()).relabel(odd({ labels: { size: 5 } })),
    "relabel: labels.size is 5: a label's value is a text, or null to remove it",
  ],
  [
    "relabel({ labels: { __proto__: … } })",
    async () => (await conversation()).relabel({ labels: Object.fromEntries([["__proto__", "mine"]]) }),
    "relabel: a label cannot be named __proto__, which JavaScript reserves: choose another name",
  ],
  [
    "fork(-1, { actor: { kind: 'tool' } })",
    async () => (await conversation()).fork(-1, odd({ actor: { kind: "tool", name: "x" } })),
    "fork: actor.kind is 'tool': give 'user', 'app' or 'operator'",
  ],
  [
    "fork(-1, { id: 'my fork' })",
    async () => (await conversation()).fork(-1, { id: "my fork" }),
    "'my fork' is not a conversation id: give 1 to 128 letters, digits, _ or -, such as a UUID",
  ],
  [
    "fork(-1, { name })",
    async () => (await conversation()).fork(-1, odd({ name: "mine" })),
    "fork has no option 'name': give 'actor' or 'id'",
  ],
  [
    "revertTo(0, { by })",
    async () => (await conversation()).revertTo(0, odd({ by: "ann" })),
    "revertTo has no option 'by': give 'actor'",
  ],
  [
    "skipEvent(0, '')",
    async () => (await conversation()).skipEvent(0, ""),
    "skipEvent: reason is an empty text: give the reason, for readers of the log",
  ],
  [
    "at(1.5)",
    async () => (await conversation()).at(1.5),
    "there is no revision 1.5 of cnv_mistakes: it has the revisions 0 to 1",
  ],
  [
    "walk({ form })",
    async () => (await conversation()).walk(odd({ form: 3 })),
    "walk has no option 'form': did you mean 'from'?",
  ],
  [
    "walk({ direction: 'backward' })",
    async () => (await conversation()).walk({ direction: odd("backward") }),
    "walk: direction is 'backward': did you mean 'backwards'?",
  ],
  [
    "diff(0, 9)",
    async () => (await conversation()).diff(0, 9),
    "there is no revision 9 of cnv_mistakes: it has the revisions 0 to 1",
  ],
  [
    "diff(0, 1, { to })",
    async () => (await conversation()).diff(0, 1, odd({ to: 1 })),
    "diff has no option 'to': give 'of'",
  ],
  [
    "diff(0, 1, { of: 5 })",
    async () => (await conversation()).diff(0, 1, { of: odd(5) }),
    "diff: of is 5: give the conversation of the second revision",
  ],
  ["request(1)", async () => (await conversation()).request(1), "cnv_mistakes has no request up to revision 1"],
  [
    "blame(0.5)",
    async () => (await conversation()).blame(0.5),
    "there is no revision 0.5 of cnv_mistakes: it has the revisions 0 to 1",
  ],
  [
    "whatIf() without an engine",
    async () => whatIf(await conversation(), odd({})),
    "whatIf takes an engine, not an object: make one with createEngine({ provider })",
  ],
  [
    "settle('charge', 'rerun')",
    async () => (await conversation()).settle("charge", odd("rerun")),
    'settling charge: got a text: write { how: "rerun" }',
  ],
  [
    "run({ toolChoice: 'weather' })",
    () => run({ toolChoice: "weather" }, engine({ tools: [weather()] })),
    `run: toolChoice is a tool's name: write { tool: "weather" }`,
  ],
  [
    "follow(0, { signal })",
    async () => (await conversation()).follow(0, odd({ signal: AbortSignal.abort() })),
    "follow: signal is an object: give the signal of an AbortController",
  ],
  [
    "conversation.verify({ heads })",
    async () => (await conversation()).verify(odd({ heads: new Map() })),
    "verify has no option 'heads': give 'savedHeads' or 'onEvent'",
  ],
  [
    "whatIf(engine, { withuot })",
    async () => whatIf(await conversation(), engine(), odd({ withuot: "loud" })),
    "whatIf has no option 'withuot': did you mean 'without'?",
  ],
  [
    "store.conversation('my talk')",
    async () => (await openStore("memory:")).conversation("my talk"),
    "'my talk' is not a conversation id: give 1 to 128 letters, digits, _ or -, such as a UUID",
  ],
  [
    "store.conversation('')",
    async () => (await openStore("memory:")).conversation(""),
    "an empty text is not a conversation id: give 1 to 128 letters, digits, _ or -, such as a UUID",
  ],
  [
    "store.conversation(17)",
    async () => (await openStore("memory:")).conversation(odd(17)),
    "17 is not a conversation id: give 1 to 128 letters, digits, _ or -, such as a UUID",
  ],
];

/** Invalid revisions. */
export const revisionMistakes: readonly Mistake[] = [
  [
    "at('3')",
    async () => (await conversation()).at(odd("3")),
    "a revision is a number, not a text: give one from 0, or -1 for the newest",
  ],
  [
    "fork({ id })",
    async () => (await conversation()).fork(odd({ id: "cnv_other" })),
    "a revision is a number, not an object: give one from 0, or -1 for the newest",
  ],
  [
    "revertTo()",
    async () => (await conversation()).revertTo(odd(undefined)),
    "a revision is a number, not undefined: give one from 0, or -1 for the newest",
  ],
];
