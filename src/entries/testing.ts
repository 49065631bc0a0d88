/** For tests of agents, layers and providers: models without a key, and a server that checks what its model reads. */

export type { ScriptedAnswer as ServerAnswer } from "@turnlog/reference-server/server";
export * from "@turnlog/reference-server/server";
export {
  type ScriptedAnswer,
  type ScriptedAnswerer,
  type ScriptedOptions,
  type ScriptedProvider,
  type ScriptedQuestion,
  scripted,
} from "../providers/scripted/scripted.ts";
export type { GivenCapabilities, ResponsesCapabilities } from "../providers/settings/capabilities.ts";
export type { Check } from "../testing/contracts/check.ts";
export type { ChatDocument, ChatFileMessage } from "../testing/rehearsal/chat-format.ts";
export { type CodecSamples, codecChecks } from "../testing/rehearsal/codec-checks.ts";
export type { EditChoice, EditOptions } from "../testing/rehearsal/edits.ts";
export type { PlayOptions } from "../testing/rehearsal/exchanges.ts";
export type { Incoherence, RehearsalCounts } from "../testing/rehearsal/play.ts";
export type { RehearsalTransport } from "../testing/rehearsal/ports.ts";
export { rehearseChats } from "../testing/rehearsal/reference-parts.ts";
export type { RehearsalFigures, RehearsalOptions } from "../testing/rehearsal/rehearse.ts";
export { createRequestJudge, type RequestJudge, type RequestJudgeOptions } from "../testing/rehearsal/request-judge.ts";
