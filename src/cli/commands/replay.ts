import type { Conversation } from "../../conversation/conversation.ts";
import type { TurnlogStore } from "../../conversation/turnlog-store.ts";
import { counterfactual } from "../../counterfactual.ts";
import { type ConversationId, conversationIdSchema, conversationStream } from "../../domain/ids.ts";
import { counted, printable } from "../../projections/wording.ts";
import { codecs } from "../../providers/codecs.ts";
import { saveCounterfactual } from "../../replay/counterfactual.ts";
import type { ReplayDifference } from "../../replay/difference.ts";
import { type FoldReplay, replayFolds } from "../../replay/fold-replay.ts";
import { type Reexecution, reexecute } from "../../replay/re-execute.ts";
import type { CliContext, CommandHandler, CommandOptions } from "../context.ts";
import { printBody, printCounterfactual } from "../counterfactual-report.ts";
import { type ExitCode, exitCodes, UsageError } from "../exit-codes.ts";
import { findConversation, findRevision } from "../find.ts";
import { eventPlace, placeName } from "../open-place.ts";
import { numberOption, textOption } from "../options.ts";
import { lastRevision, parsePlace } from "../revision.ts";
import { loadEngine } from "../stack-file.ts";

/** Replays a conversation, or asks what another stack would have made of it. Nothing is sent, and nothing is run. */
export const run: CommandHandler = async (context, { arguments: [name = ""], options }) => {
  const question = questionOf(options);
  refuseRevision(name);
  await using store = await context.openStore({
    mustExist: true,
    isWritten: question.type === "what-if" && question.saveAs !== null,
  });
  const conversation = await findConversation(store, name);
  const to = await lastOf(store, conversation, options);
  if (question.type === "what-if") return await ask(context, { store, conversation, to, question });
  const stream = conversationStream(conversation.id);
  const progress = context.progress("events replayed");
  const folds = await replayFolds(store.log, stream, { codecs, to, onProgress: progress.update });
  const engine = question.stack === null ? null : await loadEngine(question.stack);
  const layers =
    engine === null || folds.difference !== null
      ? null
      : await reexecute(store.log, stream, engine, { to, onProgress: progress.update });
  progress.end();
  const difference = folds.difference ?? layers?.difference ?? null;
  tell(context, { conversation, folds, layers, difference });
  return difference === null ? exitCodes.ok : exitCodes.replay;
};

type WhatIf = {
  readonly type: "what-if";
  readonly path: string;
  readonly without: string | null;
  readonly saveAs: string | null;
  /** The step whose body is asked for, from 1. */
  readonly body: number | null;
};

type Question = { readonly type: "same"; readonly stack: string | null } | WhatIf;

function questionOf(options: CommandOptions): Question {
  const [stack, without, other] = [
    textOption(options, "stack"),
    textOption(options, "without"),
    textOption(options, "with"),
  ];
  const saveAs = textOption(options, "saveAs");
  if (without !== null && other !== null) throw new UsageError("give --without or --with, not both");
  if (stack !== null && other !== null) throw new UsageError("--with FILE is the whole other stack: leave --stack out");
  if (without !== null && stack === null)
    throw new UsageError("--without needs --stack FILE: the log tells what layers did, not how");
  const path = other ?? (without === null ? null : stack);
  const body = numberOption(options, "body", { least: 1 });
  if (path !== null) return { type: "what-if", path, without, saveAs, body };
  if (body !== null) throw new UsageError("--body shows what would have been sent: ask by --without or --with");
  if (saveAs !== null) throw new UsageError("--save-as keeps what would have been: ask by --without or --with");
  return { type: "same", stack };
}

/** Whoever typed one wants a replay that ends there. */
function refuseRevision(text: string): void {
  const { conversation, at } = parsePlace(text);
  if (at.type !== "one") return;
  throw new UsageError(`'${text}' names a revision: write ${conversation} --to ${text.slice(conversation.length + 1)}`);
}

async function lastOf(store: TurnlogStore, conversation: Conversation, options: CommandOptions): Promise<number> {
  const text = textOption(options, "to");
  if (text === null) return findRevision(store, conversation, lastRevision);
  const { at } = parsePlace(`${conversation.id}@${text}`);
  if (at.type !== "one") throw new UsageError(`--to takes one revision, not '${text}'`);
  return findRevision(store, conversation, at.revision);
}

type Asked = {
  readonly store: TurnlogStore;
  readonly conversation: Conversation;
  readonly to: number;
  readonly question: WhatIf;
};

async function ask(context: CliContext, { store, conversation, to, question }: Asked): Promise<ExitCode> {
  const { path, without, saveAs, body } = question;
  const target = saveAs === null ? null : newId(saveAs);
  const progress = context.progress("events played again");
  const answer = await counterfactual(store.log, conversation.id, await loadEngine(path), {
    ...{ codecs, to, without },
    bodies: body !== null,
    onProgress: progress.update,
  });
  progress.end();
  if (target !== null) {
    const how = without === null ? "with another stack" : `without ${without}`;
    await saveCounterfactual(store.conversation(target), answer.turn, `${placeName(conversation, to)} ${how}`);
  }
  if (body === null) printCounterfactual(context, answer, { conversation: conversation.id, to, savedAs: target });
  else printBody(context, answer, { conversation: conversation.id, to, step: body });
  return answer.steps.every(({ isSame }) => isSame) ? exitCodes.ok : exitCodes.failure;
}

/** What cannot be written is told before anything is asked. */
function newId(text: string): ConversationId {
  const id = conversationIdSchema.safeParse(text);
  if (!id.success) throw new UsageError(`'${text}' cannot be an id: ${id.error.issues[0]?.message}`);
  return id.data;
}

type Replayed = {
  readonly conversation: Conversation;
  readonly folds: FoldReplay;
  readonly layers: Reexecution | null;
  readonly difference: ReplayDifference | null;
};

function tell(context: CliContext, { conversation, folds, layers, difference }: Replayed): void {
  const { style } = context;
  const { stream, to, events, turns, requests } = folds;
  if (context.isJson) {
    const gone = layers === null ? null : { runs: layers.runs, steps: layers.steps };
    context.printJson({ conversation: conversation.id, to, events, turns, requests, layers: gone, difference });
    return;
  }
  const layered =
    layers === null ? "" : `; ${counted(layers.runs, "run")} and ${counted(layers.steps, "step")} executed`;
  const compared = `${counted(events, "event")}, ${counted(turns, "Turn")} and ${counted(requests, "request")} replayed${layered}`;
  if (difference === null) {
    context.print(`${compared}: ${style.good("no difference")}`);
    return;
  }
  const { revision, frame, layer, field, message } = difference;
  const place = revision === null ? conversation.id : eventPlace({ stream: difference.stream, revision }, stream);
  const where = [
    style.bold(place),
    ...(frame === null ? [] : [`frame ${frame}`]),
    ...(layer === null ? [] : [`layer ${printable(layer)}`]),
    field,
  ];
  context.print(`${style.bad("differs")}  ${where.join("  ")}`);
  context.print(`  ${printable(message)}`);
  context.print(`${compared} up to there`);
}
