import { counted } from "../../../base/counted.ts";
import { printable } from "../../../base/printable.ts";
import type { Conversation } from "../../../conversation/conversation.ts";
import type { TurnlogStore } from "../../../conversation/turnlog-store.ts";
import { conversationStream } from "../../../domain/ids.ts";
import { saveCounterfactual, whatIf } from "../../../replay/counterfactual.ts";
import { replayFolds } from "../../../replay/fold-replay.ts";
import { reexecute } from "../../../replay/re-execute.ts";
import { counterfactualDocumentOf, isAllTheSame } from "../../documents/counterfactual-document.ts";
import { type ReplayedDocument, replayDocument } from "../../documents/running.ts";
import { eventPlace, placeName } from "../block-rows.ts";
import { type CommandInput, commandCode } from "../command.ts";
import type { CliContext, Screen } from "../context.ts";
import { describeStepBody, renderCounterfactual } from "../counterfactual-report.ts";
import { exitCodes, UsageError } from "../exit-codes.ts";
import { findConversation, findRevision, newConversation } from "../find.ts";
import { lastRevision, parsePlace } from "../revision.ts";
import { codecsOf, engineIn, loadEngine } from "../stack-file.ts";
import { printBody } from "./request.ts";

type Options = {
  readonly to?: string;
  readonly stack?: string;
  readonly without?: string;
  readonly with?: string;
  readonly save?: boolean;
  readonly id?: string;
  /** The step whose body to show, from 1. */
  readonly body?: number;
};

/** Replays a conversation, or shows what another stack would have done. Sends no request, and runs no tool. */
export const replay = commandCode({
  document: replayDocument,

  async *run(context, { arguments: [name = ""], options }: CommandInput<Options>) {
    checkOptions(options);
    refuseRevision(name);
    await using store = await context.openStore(options.save === true ? "write" : "read");
    const conversation = await findConversation(store, name);
    const asked = { store, conversation, to: await lastOf(store, conversation, options.to), options };
    if (options.with === undefined && options.without === undefined) {
      const document = await replayAll(context, asked);
      yield document;
      return document.difference === null ? exitCodes.ok : exitCodes.replay;
    }
    const { document, isSame } = await ask(context, asked);
    yield document;
    return isSame ? exitCodes.ok : exitCodes.replay;
  },

  render(document, screen) {
    if ("steps" in document) renderCounterfactual(document, screen);
    else if ("bodyText" in document) printBody(document.bodyText, screen);
    else renderReplayed(document, screen);
  },
});

function checkOptions({ with: other, without, stack, body, save = false }: Options): void {
  if (without !== undefined && stack === undefined)
    throw new UsageError("--without needs --stack FILE: the log has what layers did, but not their code");
  if (other !== undefined || without !== undefined) return;
  if (body !== undefined)
    throw new UsageError("--body shows what another stack would have sent: give --without or --with too");
  if (save) throw new UsageError("--save keeps what another stack would have recorded: give --without or --with too");
}

/** A revision here means that the user wants a replay that ends there. */
function refuseRevision(text: string): void {
  const { conversation, at } = parsePlace(text);
  if (at.type !== "one") return;
  throw new UsageError(
    `expected a conversation, got a revision: write ${conversation} --to ${text.slice(conversation.length + 1)}`,
  );
}

async function lastOf(store: TurnlogStore, conversation: Conversation, text: string | undefined): Promise<number> {
  if (text === undefined) return findRevision(store, conversation, lastRevision);
  const { at } = parsePlace(`${conversation.id}@${text}`);
  if (at.type !== "one") throw new UsageError(`--to takes one revision, not '${text}'`);
  return findRevision(store, conversation, at.revision);
}

type Asked = {
  readonly store: TurnlogStore;
  readonly conversation: Conversation;
  readonly to: number;
  readonly options: Options;
};

async function replayAll(context: CliContext, { conversation, to, options }: Asked): Promise<ReplayedDocument> {
  const { folds, layers } = await context.progress("events replayed", async (onProgress) => {
    const asked = { to, onProgress };
    const replayed = await replayFolds(conversation, {
      ...asked,
      codecs: await codecsOf(options.stack, context.settings),
    });
    const engine = options.stack === undefined ? null : await engineIn(options.stack, context.settings);
    const isDone = engine === null || replayed.difference !== null;
    return { folds: replayed, layers: isDone ? null : await reexecute(conversation, engine, asked) };
  });
  const { events, turns, requests } = folds;
  return {
    ...{ conversation: conversation.id, to: folds.to, events, turns, requests },
    layers: layers === null ? null : { runs: layers.runs, steps: layers.steps, erased: layers.erased },
    difference: folds.difference ?? layers?.difference ?? null,
  };
}

async function ask(context: CliContext, { store, conversation, to, options }: Asked) {
  const { without, body, save = false, id, with: path = options.stack ?? "" } = options;
  // Rejects an unusable id before any work.
  const saved = save ? await newConversation(store, id) : null;
  const engine = await loadEngine(path, context.settings);
  const asked = {
    codecs: await codecsOf(path, context.settings),
    to,
    without: without ?? null,
    bodies: body !== undefined,
  };
  const answer = await context.progress("events played again", (onProgress) =>
    whatIf(conversation, engine, { ...asked, onProgress }),
  );
  if (saved !== null) {
    const how = without === undefined ? "with another stack" : `without ${without}`;
    await saveCounterfactual(saved, answer.turn, `${placeName(conversation.id, to)} ${how}`);
  }
  const about = { conversation: conversation.id, to };
  return {
    document:
      body === undefined
        ? counterfactualDocumentOf(answer, { ...about, savedAs: saved?.id ?? null })
        : describeStepBody(answer, { ...about, step: body }),
    isSame: isAllTheSame(answer),
  };
}

function renderReplayed(document: ReplayedDocument, { style, print }: Screen): void {
  const { conversation, events, turns, requests, layers, difference } = document;
  const layered =
    layers === null
      ? ""
      : `; ${counted(layers.runs, "run")} and ${counted(layers.steps, "step")} executed${layers.erased === 0 ? "" : `, ${counted(layers.erased, "run")} not executed, because content was erased since`}`;
  const compared = `${counted(events, "event")}, ${counted(turns, "Turn")} and ${counted(requests, "request")} replayed${layered}`;
  if (difference === null) {
    print(`${compared}: ${style.good("no difference")}`);
    return;
  }
  const { stream, revision, frame, layer, field, message } = difference;
  const place = revision === null ? conversation : eventPlace({ stream, revision }, conversationStream(conversation));
  const where = [
    style.bold(place),
    ...(frame === null ? [] : [`frame ${frame}`]),
    ...(layer === null ? [] : [`layer ${printable(layer)}`]),
    field,
  ];
  print(`${style.bad("differs")}  ${where.join("  ")}`, `  ${printable(message)}`, `${compared} up to there`);
}
