import { isPlaceInList } from "../../analysis/lists/list.ts";
import type { JsonObject, JsonValue } from "../../base/json.ts";
import { commit } from "../../conversation/commit.ts";
import type { Conversation } from "../../conversation/conversation.ts";
import type { Engine } from "../../engine/options/engine.ts";
import type { RunPart } from "../../engine/options/run-part.ts";
import { type AnswerReader, answerChunks, isInLog } from "./answer-chunks.ts";
import { approvalIdOf } from "./call-states.ts";
import type { ChatFold } from "./chat-fold.ts";
import { type Activity, type ChatHub, nothingLeft, type Watching } from "./chat-hub.ts";
import { appendMessage, blockOf, editMessage, forgetAnswer } from "./chat-messages.ts";
import { type ChatAccess, type CheckedChat, chosenEngine, decider } from "./chat-options.ts";
import { ChatRefusal, noConversation } from "./chat-refusal.ts";
import type { ChatWatch } from "./chat-watch.ts";
import { knownSteps } from "./known-steps.ts";
import type { Asked, Decision } from "./read-body.ts";
import { eventStream } from "./sse.ts";
import { answerIdOf, messageOf } from "./ui-messages.ts";

type Asking = {
  readonly chat: CheckedChat;
  readonly hub: ChatHub;
  readonly access: ChatAccess;
  readonly request: Request;
};

/** How long after its end an answer is streamed again: a page that loaded the messages before asks for the rest of it after. */
const replayMs = 30_000;
/** How soon after a message its run begins. */
const beginsWithinMs = 2_000;

/** One request of somebody who was let in. */
export class ChatRequest {
  readonly #asking: Asking;
  #engine: Engine<unknown, unknown> | null = null;

  constructor(asking: Asking) {
    this.#asking = asking;
  }

  /** A page of the conversations that have the labels. */
  async list(): Promise<Response> {
    const { chat, access, request } = this.#asking;
    const after = new URL(request.url).searchParams.get("after");
    if (after !== null && !isPlaceInList(after))
      throw new ChatRefusal(400, "input", "after is not a place in the list: give `next` of the page before");
    const page = await chat.store.list({ labels: access.labels, ...(after === null ? {} : { after }) });
    const conversations = page.conversations.map(({ id, title, lastAt, openRun }) => ({
      ...{ id, title, lastAt, isWaiting: openRun?.state === "parked" },
    }));
    return document({ conversations, next: page.next });
  }

  /** The messages of a conversation, as the page had them at the end of its streams. */
  async read(id: string): Promise<Response> {
    using watching = this.#watch(id);
    const fold = await this.#known(watching);
    const messages = watching.watch.shown.map(messageOf);
    return document({ id, title: fold.title, messages: JSON.parse(JSON.stringify(messages)) as JsonValue });
  }

  /** Ends the run, in whichever process it is. */
  async stop(id: string): Promise<Response> {
    using watching = this.#watch(id);
    const { watch } = watching;
    const fold = await this.#known(watching);
    // A process that has just taken a message is about to begin its run.
    if (fold.run === null && !fold.isBegun && fold.asked() !== null)
      await watch.until(() => watch.fold.isBegun, beginsWithinMs);
    const { actor } = this.#asking.access;
    const by = actor.kind === "import" ? ({ kind: "app" } as const) : actor;
    const stopped = await watch.conversation.cancel({ actor: by, reason: "it was stopped on the page" });
    return document({ status: stopped?.status ?? "none" });
  }

  /** The answer that is being made, from its beginning; a run that was cut off is taken up. 204 if there is none. */
  async resume(id: string): Promise<Response> {
    const watching = this.#watch(id);
    try {
      const fold = await this.#known(watching);
      const activity = this.#activity(id, watching, fold);
      if (activity !== null) return this.#stream(watching, { asked: fold.asked(), activity });
      watching[Symbol.dispose]();
      return new Response(null, { status: 204 });
    } catch (error) {
      watching[Symbol.dispose]();
      throw error;
    }
  }

  /** A message, a decision, or the wish for another answer: streams what follows from it. */
  async send(asked: Asked): Promise<Response> {
    // A message that no engine answers is not recorded.
    this.#chosen();
    const watching = this.#watch(asked.id);
    try {
      return await this.#answer(watching, asked);
    } catch (error) {
      watching[Symbol.dispose]();
      throw error;
    }
  }

  async #answer(watching: Watching, asked: Asked): Promise<Response> {
    const { conversation } = watching.watch;
    const { actor } = this.#asking.access;
    const { message, decisions, shown, messageId } = asked;
    if (asked.isRegeneration) {
      const fold = await this.#known(watching);
      // A page that names no message sends the history up to the one to answer.
      const meant = messageId ?? message?.id ?? null;
      const open = openAnswer(fold);
      const blockId = await forgetAnswer(conversation, { fold, messageId: meant }, actor);
      return this.#stream(watching, {
        asked: blockId,
        changed: otherThan(open, blockId),
        activity: this.#run(watching),
      });
    }
    if (message !== null) {
      if (message.parts.length === 0) throw new ChatRefusal(400, "input", "the message is empty");
      if (messageId !== null) return this.#edit(watching, { messageId, parts: message.parts });
      await this.#begun(watching);
      const blockId = await appendMessage(conversation, message, actor);
      return this.#stream(watching, { asked: blockId, activity: this.#run(watching) });
    }
    if (decisions.length === 0)
      throw new ChatRefusal(400, "input", "the last message is neither the user's nor answers a question about a call");
    const fold = await this.#known(watching);
    const answering = fold.asked();
    await this.#decide(conversation, fold, decisions);
    const known = knownSteps(shown?.["parts"]);
    return this.#stream(watching, { asked: answering, known, activity: this.#run(watching) });
  }

  async #edit(
    watching: Watching,
    { messageId, parts }: { readonly messageId: string; readonly parts: readonly JsonObject[] },
  ): Promise<Response> {
    const { conversation } = watching.watch;
    const fold = await this.#known(watching);
    const before = blockOf(conversation, fold, messageId);
    const changed = otherThan(openAnswer(fold), before);
    const asked = await editMessage(conversation, { blockId: before, parts }, this.#asking.access.actor);
    return this.#stream(watching, { asked, changed, activity: this.#run(watching) });
  }

  async #decide(conversation: Conversation, fold: ChatFold, decisions: readonly Decision[]): Promise<void> {
    const actor = decider(this.#asking.access.actor);
    if (actor === null)
      throw new ChatRefusal(
        403,
        "access-denied",
        "a decision about a call is that of a named person: access returns an actor without a name",
      );
    for (const { approvalId, approved, reason } of decisions) {
      const [call = ""] = approvalId.split("#");
      const asked = fold.askedAbout(call);
      // A page that was not loaded again must not decide about other arguments than it shows.
      if (asked === null || approvalIdOf(asked) !== approvalId)
        throw new ChatRefusal(
          409,
          "not-waiting",
          "the call on the page does not wait for approval any more: load the page again",
        );
      const said = { actor, key: `${approvalId} ${approved}`, ...(reason === null ? {} : { message: reason }) };
      if (approved) await conversation.approve(call, said);
      else await conversation.deny(call, said);
    }
  }

  #watch(id: string): Watching {
    const { hub, chat } = this.#asking;
    return hub.watch(chat.store.conversation(id));
  }

  /** The conversation as it is now, if it exists for this user. */
  async #known({ watch }: Watching): Promise<ChatFold> {
    const fold = await watch.upToNow();
    if (fold.revision < 0 || !this.#isTheirs(fold)) throw noConversation();
    return fold;
  }

  /** The same, which begins with the labels of this user if it does not exist. */
  async #begun(watching: Watching): Promise<ChatFold> {
    const { watch } = watching;
    const { actor, labels } = this.#asking.access;
    if ((await watch.conversation.head()) === null) {
      // If another request begins it at the same time, the first one has its labels.
      const data = { origin: { type: "new" }, labels } as const;
      await watch.conversation[commit]([{ event: { type: "ConversationStarted", version: 1, data }, actor }]);
    }
    return this.#known(watching);
  }

  #isTheirs({ labels }: ChatFold): boolean {
    return Object.entries(this.#asking.access.labels).every(([name, label]) => labels[name] === label);
  }

  /** The work on an answer that is not complete; null if there is nothing to wait for. */
  #activity(id: string, watching: Watching, fold: ChatFold): Activity | null {
    const { hub, chat } = this.#asking;
    const running = hub.activity(id);
    if (running !== null) return running;
    const nowMs = chat.store.log.clock();
    if (fold.run !== null) return this.#isWaiting(fold, nowMs) ? null : this.#run(watching, { isResumption: true });
    // The process that took the message died before a run began.
    if (!fold.isBegun && fold.asked() !== null) return this.#run(watching);
    return fold.end !== null && nowMs - Date.parse(fold.endedAt) < replayMs ? nothingLeft : null;
  }

  #isWaiting(fold: ChatFold, nowMs: number): boolean {
    return fold.waiting(new Date(nowMs).toISOString()).length > 0;
  }

  #chosen(): Engine<unknown, unknown> {
    const { chat, request } = this.#asking;
    this.#engine ??= chosenEngine(chat.engine, request);
    return this.#engine;
  }

  #run({ watch }: Watching, { isResumption = false } = {}): Activity {
    const { hub, chat, access } = this.#asking;
    const { onMessageWhileWaiting, waitUntil, onError } = chat;
    const engine = this.#chosen();
    const { context } = access;
    const given = context === undefined ? {} : { context };
    const options = { onMessageWhileWaiting, ...given };
    const { conversation } = watch;
    const answer = (): AsyncIterable<RunPart> => conversation.stream<unknown, unknown>(engine, options);
    const resume = (): AsyncIterable<RunPart> =>
      conversation.resumed<unknown>(engine, { onStackChanged: "abandon", onDiverged: "abandon", ...given });
    const parts = isResumption ? () => resumeAndAnswer(watch, resume, answer) : answer;
    const activity = hub.run(conversation, { parts, isResumption });
    void activity.over.then(() => {
      if (activity.failure !== null && !isInLog(activity.failure)) onError(activity.failure);
    });
    waitUntil?.(activity.over);
    return activity;
  }

  #stream(watching: Watching, reading: Pick<AnswerReader, "asked" | "activity" | "known" | "changed">): Response {
    const left = new AbortController();
    const { clock } = this.#asking.chat.store.log;
    const chunks = answerChunks({
      ...{ watch: watching.watch, left: left.signal, now: () => new Date(clock()).toISOString() },
      ...reading,
    });
    return eventStream(chunks, () => {
      left.abort();
      watching[Symbol.dispose]();
    });
  }
}

const document = (data: JsonValue): Response => Response.json(data, { headers: { "cache-control": "no-store" } });

/** The message that the open run answers; null if none is open. */
const openAnswer = (fold: ChatFold): string | null => (fold.run === null ? null : fold.asked());

/** The answer to another message than this one. */
const otherThan = (asked: string | null, blockId: string): string | null =>
  asked === null || asked === blockId ? null : answerIdOf(asked);

/**
 * Goes on with the open run. A page that only looks does not ask the model again if that run fails; a run that this engine could not execute
 * again has ended without an answer, and another one gives it.
 */
async function* resumeAndAnswer(
  watch: ChatWatch,
  resume: () => AsyncIterable<RunPart>,
  answer: () => AsyncIterable<RunPart>,
): AsyncIterable<RunPart> {
  yield* resume();
  const { end } = await watch.upToNow();
  const isAbandoned = end?.type === "RunFailed" && (end.data.kind === "stack-changed" || end.data.kind === "diverged");
  if (isAbandoned) yield* answer();
}
