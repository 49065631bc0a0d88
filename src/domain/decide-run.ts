import { err, ok, type Result, unreachable } from "../base/result.ts";
import type { Command, Rejection } from "./commands.ts";
import type { RunState } from "./conversation-state.ts";
import type { ConversationEvent } from "./events/event.ts";

type CommandInRun = Extract<Command, { readonly runId: string }>;

/** What a command of an open run makes happen. */
export function decideInRun(
  run: RunState,
  command: Exclude<CommandInRun, { readonly type: "StartRun" }>,
): Result<readonly ConversationEvent[], Rejection> {
  switch (command.type) {
    case "ResumeRun":
      if (command.data.epoch !== run.epoch + 1) return err({ code: "run-taken-over", runId: run.id });
      return ok([{ type: "RunResumed", version: 1, data: command.data }]);
    case "EditTurn":
      return ok([{ type: "TurnEdited", version: 1, data: command.data }]);
    case "RequestInference": {
      const { inferenceId } = command.data;
      if (run.inferences.has(inferenceId)) return err({ code: "inference-repeated", inferenceId });
      return ok([{ type: "InferenceRequested", version: 1, data: command.data }]);
    }
    case "StartResponse":
    case "ReceiveResponse":
    case "FailInference": {
      const { inferenceId } = command.data;
      const inference = run.inferences.get(inferenceId);
      if (inference === undefined) return err({ code: "inference-not-open", inferenceId });
      return ok(inference === "closed" ? [] : [answerOf(command)]);
    }
    case "EndRun":
      return ok([command.event]);
    default:
      return decideEffect(run, command);
  }
}

function answerOf(
  command: Extract<Command, { readonly type: "StartResponse" | "ReceiveResponse" | "FailInference" }>,
): ConversationEvent {
  switch (command.type) {
    case "StartResponse":
      return { type: "ResponseStarted", version: 1, data: command.data };
    case "ReceiveResponse":
      return { type: "ResponseReceived", version: 1, data: command.data };
    case "FailInference":
      return { type: "InferenceFailed", version: 1, data: command.data };
    default:
      return unreachable(command);
  }
}

type EffectCommand = Extract<
  Command,
  {
    readonly type: "StartTool" | "FinishTool" | "StartEffect" | "FinishEffect" | "ParkTool" | "SettleTool" | "ParkRun";
  }
>;

/** An effect begins once, and once more for each time that someone said so. */
function decideEffect(run: RunState, command: EffectCommand): Result<readonly ConversationEvent[], Rejection> {
  const stateOf = (id: string) => run.effects.get(id);
  const mayStart = (id: string): boolean => !run.effects.has(id) || stateOf(id) === "may-rerun";
  switch (command.type) {
    case "StartTool": {
      const { blockId } = command.data;
      if (!mayStart(blockId)) return err({ code: "tool-repeated", blockId });
      return ok([{ type: "ToolStarted", version: 1, data: command.data }]);
    }
    case "FinishTool":
      if (stateOf(command.data.blockId) === "finished") return ok([]);
      return ok([{ type: "ToolFinished", version: 1, data: command.data }]);
    case "StartEffect": {
      const { effectId } = command.data;
      if (!mayStart(effectId)) return err({ code: "tool-repeated", blockId: effectId });
      return ok([{ type: "EffectStarted", version: 1, data: command.data }]);
    }
    case "FinishEffect":
      if (stateOf(command.data.effectId) === "finished") return ok([]);
      return ok([{ type: "EffectFinished", version: 1, data: command.data }]);
    case "ParkTool":
      if (stateOf(command.data.blockId) !== "started") return ok([]);
      return ok([{ type: "ToolParked", version: 1, data: command.data }]);
    case "SettleTool": {
      const { blockId } = command.data;
      // A settlement permits an effect, or takes the place of one: only the first one counts.
      if (stateOf(blockId) !== "parked") return err({ code: "tool-not-parked", blockId });
      return ok([{ type: "ToolSettled", version: 1, data: command.data }]);
    }
    case "ParkRun":
      return ok([{ type: "RunParked", version: 1, data: command.data }]);
    default:
      return unreachable(command);
  }
}
