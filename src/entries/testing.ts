/** For tests of agents, layers and providers: models without a key, and a server that checks what its model reads. */

export type { Check } from "../contracts/check.ts";
export {
  type ScriptedAnswer,
  type ScriptedAnswerer,
  type ScriptedOptions,
  type ScriptedProvider,
  type ScriptedQuestion,
  scripted,
} from "../providers/scripted/scripted.ts";
export type { GivenCapabilities, ResponsesCapabilities } from "../providers/settings/capabilities.ts";
export type { ScriptedAnswer as ServerAnswer } from "../reference-server/server.ts";
export * from "../reference-server/server.ts";
export type { ChatDocument, ChatFileMessage } from "../rehearsal/chat-format.ts";
export { type CodecSamples, codecChecks } from "../rehearsal/codec-checks.ts";
export type { EditChoice, EditOptions } from "../rehearsal/edits.ts";
export type { PlayOptions } from "../rehearsal/exchanges.ts";
export type { Incoherence, RehearsalCounts } from "../rehearsal/play.ts";
export type { RehearsalTransport } from "../rehearsal/ports.ts";
export { rehearseChats } from "../rehearsal/reference-parts.ts";
export type { RehearsalFigures, RehearsalOptions } from "../rehearsal/rehearse.ts";
export { createRequestJudge, type RequestJudge, type RequestJudgeOptions } from "../rehearsal/request-judge.ts";
