import { defineMiddleware, type LayerContext, type Next, type Turn, toolCall } from "../../../src/index.ts";
import { conversation, engine, type Mistake, odd } from "./mistake.ts";

/** What `use` of a layer's context ends the run with. */
const inLayer = (use: (ctx: LayerContext, turn: Turn, next: Next) => unknown) => async () => {
  const mine = defineMiddleware({ name: "mine", version: "1.0.0" }, (next) => async (turn, ctx) => {
    await use(ctx, turn, next);
    return next(turn);
  });
  return (await conversation()).run(
    engine({ middleware: [mine], newId: (prefix: string) => `${prefix}_0000000000000001` }),
  );
};
const failed = "run run_0000000000000001 failed";
const noBlock = 'write user("…"), or block.withText("…")';

/** What a layer does with what it is given. */
export const contextMistakes: readonly Mistake[] = [
  [
    "ctx.effect(work)",
    inLayer((ctx) =>
      ctx.effect(
        odd(() => 1),
        odd(undefined),
      ),
    ),
    `${failed} (layer-failed): layer mine: ctx.effect: name is a function: give the name to record in the log`,
  ],
  [
    "ctx.effect(name)",
    inLayer((ctx) => ctx.effect("fetch", odd(undefined))),
    `${failed} (layer-failed): layer mine: ctx.effect 'fetch': work is undefined: give a function`,
  ],
  [
    "ctx.effect(…, { idempotence })",
    inLayer((ctx) => ctx.effect("fetch", () => 1, odd({ idempotence: true }))),
    `${failed} (layer-failed): layer mine: ctx.effect has no option 'idempotence': did you mean 'idempotent'?`,
  ],
  [
    "ctx.effect(…, { idempotent: 'yes' })",
    inLayer((ctx) => ctx.effect("fetch", () => 1, odd({ idempotent: "yes" }))),
    `${failed} (layer-failed): layer mine: ctx.effect 'fetch': idempotent is a text: give true or false`,
  ],
  [
    "ctx.instructions()",
    inLayer((ctx) => {
      ctx.instructions(odd(undefined));
    }),
    `${failed} (layer-failed): layer mine: ctx.instructions: text is undefined: give the text for the model`,
  ],
  [
    "ctx.onAcknowledged(text)",
    inLayer((ctx) => {
      ctx.onAcknowledged(odd("done"));
    }),
    `${failed} (layer-failed): layer mine: ctx.onAcknowledged: work is a text: give a function`,
  ],
  [
    "ctx.infer({ prompt })",
    inLayer((ctx) => ctx.infer(odd({ prompt: "Is it safe?" }))),
    `${failed} (layer-failed): layer mine: ctx.infer has no option 'prompt': did you mean 'input'?`,
  ],
  [
    "ctx.tool(a call of its own)",
    inLayer((ctx) => ctx.tool(toolCall({ callId: "c", name: "weather", arguments: "{}" }))),
    `${failed} (layer-failed): layer mine: ctx.tool: no answer of this run made the call: give a call for which ctx.canRun(call) is true`,
  ],
  [
    "turn.append(text)",
    inLayer((_, turn) => turn.append(odd("hello"))),
    `${failed} (layer-failed): layer mine: a Turn is made of blocks, but this is a text: ${noBlock}`,
  ],
  [
    "turn.append({ role, content })",
    inLayer((_, turn) => turn.append(odd({ role: "user", content: "hello" }))),
    `${failed} (layer-failed): layer mine: a Turn is made of blocks, but this is an object: ${noBlock}`,
  ],
  [
    "turn.map() that gives nothing",
    inLayer((_, turn) => turn.map(odd(() => undefined))),
    `${failed} (layer-failed): layer mine: a Turn is made of blocks, but this is undefined: ${noBlock}`,
  ],
  [
    "turn.replaceEach() that gives a text",
    inLayer((_, turn) =>
      turn.replaceEach(
        turn.blocks,
        odd(() => "hello"),
      ),
    ),
    `${failed} (layer-failed): layer mine: a Turn is made of blocks, but this is a text: ${noBlock}`,
  ],
  ...(["effect", "infer", "id", "random", "next"] as const).map((asked): Mistake => {
    const name = asked === "next" ? "next" : `ctx.${asked}`;
    const ask = (ctx: LayerContext, turn: Turn, next: Next): unknown =>
      ({
        effect: () => ctx.effect("inner", () => 1),
        infer: () => ctx.infer({ input: turn }),
        id: () => ctx.id(),
        random: () => ctx.random(),
        next: () => next(turn),
      })[asked]();
    return [
      `${name} within an effect`,
      inLayer((ctx, turn, next) => ctx.effect("outer", async () => odd(await ask(ctx, turn, next)))),
      `${failed} (effect-failed): layer mine: ${name} was called inside the effect 'outer', which a replay does not repeat: call it before or after the effect`,
    ];
  }),
];
