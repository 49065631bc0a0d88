import { checkWhole, kindOf, optionsOf } from "../../base/options.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Block } from "../../domain/block.ts";
import { openCalls } from "../../domain/calls.ts";
import type { Turn } from "../../domain/turn.ts";
import { broughtBy, defineMiddleware, type Layer, type LayerContext } from "../ports/middleware.ts";
import { checkTool, type Tool } from "../ports/tool.ts";

export type ToolLoopOptions = { readonly maxSteps?: number | undefined };
const loopOptions = optionsOf<ToolLoopOptions>({ maxSteps: checkWhole });

/** The default limit of model calls in one run. */
const maxStepsDefault = 32;

/**
 * Runs the tools that an answer calls and asks the model again, until an answer calls none. If the server paused an answer, the
 * loop asks it to continue. The loop is outside all layers by default; list it yourself to let a layer see a whole run as one call.
 */
export function toolLoop<Context = unknown>(
  tools: readonly Tool<unknown, unknown, Context>[],
  options: ToolLoopOptions = {},
): Layer<Context> {
  loopOptions.check("toolLoop", options);
  const { maxSteps = maxStepsDefault } = options;
  const given: unknown = tools;
  if (!Array.isArray(given))
    throw new TypeError(`toolLoop: tools is ${kindOf(given)}, not a list: write toolLoop([weather])`);
  for (const [index, tool] of tools.entries()) checkTool(`toolLoop: tools[${index}]`, tool);
  const identities = new Set(tools.flatMap(({ identity }) => (identity === undefined ? [] : [identity])));
  const config = identities.size === 0 ? null : { tools: [...identities] };
  const layer = defineMiddleware({ name: "tool-loop", version: "1.0.0", config }, (next) => async (turn, ctx) => {
    let asked = turn;
    let isPaused = false;
    for (let iteration = 0; iteration < maxSteps; iteration += 1) {
      const answer = await next(asked);
      const brought = broughtBy(asked, answer);
      // Calls that no inner layer has answered.
      const calls = openCalls(brought).filter((call) => ctx.canRun(call));
      const runnable = calls.filter((call) => isRunnable(call) && !isOfTheApp(call, tools, ctx));
      isPaused = calls.length === 0 && endsPaused(answer, brought);
      if (isPaused) {
        asked = answer;
        continue;
      }
      if (runnable.length === 0) return answer;
      asked = answer.append(...(await runTools(runnable, ctx)));
      // The app answers the remaining calls, and then runs the conversation again.
      if (runnable.length < calls.length) return asked;
    }
    throw new TurnlogError(
      "iteration-limit",
      isPaused
        ? `the server still paused its answer after ${maxSteps} requests; raise maxSteps`
        : `the model still called tools after ${maxSteps} requests; raise maxSteps, or check the tools' results`,
    );
  });
  return { ...layer, tools, isEngine: true };
}

/** Whether a Turn ends with an answer that this pass added and that its server paused. */
export const endsPaused = (turn: Turn, brought: readonly Block[]): boolean =>
  brought.at(-1)?.wire?.paused === true && brought.at(-1) === turn.at(turn.length - 1);

/** Waits for all calls, so that one tool's failure never abandons another that has started. */
async function runTools(calls: readonly Block[], ctx: LayerContext): Promise<readonly Block[]> {
  const settled = await Promise.allSettled(calls.map((call) => ctx.tool(call)));
  return settled.map((outcome) => {
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  });
}

/** Whether the request offered a tool that the engine does not have: the app runs it and appends the result. */
function isOfTheApp({ name }: Block, tools: readonly Pick<Tool, "name">[], ctx: LayerContext): boolean {
  if (name === null || tools.some((tool) => tool.name === name)) return false;
  return ctx.offers(name);
}

const isRunnable = (call: Block): boolean => call.type === "function" || call.type === "custom";
