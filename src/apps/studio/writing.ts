import * as z from "zod";
import { messageOf } from "../../base/error-message.ts";
import { excerpt } from "../../base/printable.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Conversation } from "../../conversation/conversation.ts";
import type { TurnlogStore } from "../../conversation/turnlog-store.ts";
import { jsonValueSchema } from "../../domain/events/shared.ts";
import { conversationIdSchema, conversationStream } from "../../domain/ids.ts";
import type { Engine } from "../../engine/options/engine.ts";
import { issuesText } from "../../engine/ports/schema.ts";
import { RefusedError } from "./failures.ts";
import type { ActedDocument, InboxItemDocument } from "./inbox-documents.ts";

/** How long an answer waits to say how a run went on; it goes on by itself then. */
const saidWithinMs = 1_000;

const call = { call: z.string(), digest: z.string().nullable() } as const;
const message = z.exactOptional(z.string().min(1).max(10_000));

/** What a page may ask for. */
const answerSchema = z.discriminatedUnion("do", [
  z.strictObject({ do: z.literal("approve"), ...call, input: z.exactOptional(jsonValueSchema), message }),
  z.strictObject({ do: z.literal("deny"), ...call, message }),
  z.strictObject({
    do: z.literal("settle"),
    ...{ call: z.string(), how: z.enum(["rerun", "abandon", "result"]), output: z.exactOptional(jsonValueSchema) },
  }),
  z.strictObject({ do: z.literal("resume"), takeover: z.boolean() }),
  z.strictObject({ do: z.literal("run") }),
  z.strictObject({ do: z.literal("abandon"), takeover: z.boolean() }),
]);
type Answer = z.infer<typeof answerSchema>;

/** What a studio that writes needs: the engine that goes on with runs, and who decides. */
export type WritingOptions = {
  readonly store: Pick<TurnlogStore, "conversation" | "events">;
  readonly engine: Engine;
  /** The module of the engine, as it was named. */
  readonly stack: string;
  /** The operator under whose name everything is recorded. */
  readonly as: string;
};

/** The decisions of a person at the page, and the runs that go on after them. */
export class Writing {
  readonly as: string;
  readonly stack: string;
  readonly #store: WritingOptions["store"];
  readonly #engine: Engine;
  readonly #going = new Map<string, Promise<unknown>>();
  readonly #problems = new Map<string, string>();

  constructor({ store, engine, stack, as }: WritingOptions) {
    this.as = as;
    this.stack = stack;
    this.#store = store;
    this.#engine = engine;
  }

  /** Whether a run of a conversation goes on here, and why the last attempt did not. */
  stateOf(id: string): Pick<InboxItemDocument, "isGoing" | "problem"> {
    return { isGoing: this.#going.has(id), problem: this.#problems.get(id) ?? null };
  }

  /**
   * Does what a page asks for.
   *
   * @throws {RefusedError} for a request of another form, and for a call whose arguments are not those that the person saw.
   */
  async act(id: string, asked: unknown): Promise<ActedDocument> {
    const known = conversationIdSchema.safeParse(id);
    const head = known.success ? await this.#store.events.head(conversationStream(known.data)) : null;
    if (!known.success || head === null)
      throw new TurnlogError("not-found", `there is no conversation ${id.slice(0, 140)}`);
    const answer = answerSchema.safeParse(asked);
    if (!answer.success) throw new RefusedError(400, "input", { message: issuesText(answer.error.issues) });
    return this.#act(this.#store.conversation(known.data), answer.data);
  }

  async #act(conversation: Conversation, answer: Answer): Promise<ActedDocument> {
    const actor = { kind: "operator", name: this.as } as const;
    switch (answer.do) {
      case "approve":
      case "deny": {
        await checkCall(conversation, answer);
        const said = { actor, ...(answer.message === undefined ? {} : { message: answer.message }) };
        if (answer.do === "deny") {
          const { isNew } = await conversation.deny(answer.call, said);
          return this.#goOn(conversation, { did: "deny", isNew });
        }
        const { input } = answer;
        const { isNew } = await conversation.approve(answer.call, {
          ...said,
          ...(input === undefined ? {} : { input }),
        });
        return this.#goOn(conversation, { did: input === undefined ? "approve" : "edit", isNew });
      }
      case "settle": {
        const { how, output = null } = answer;
        await conversation.settle(answer.call, how === "result" ? { how, output } : { how }, actor);
        return this.#goOn(conversation, { did: "settle", isNew: true });
      }
      case "abandon": {
        const ended = await conversation.abandon({ takeover: answer.takeover, actor });
        this.#problems.delete(conversation.id);
        return acted(conversation, { did: "abandon", isNew: ended !== null }, { state: "done" });
      }
      case "run":
        return this.#start(conversation, { did: "run", isNew: true }, () => conversation.run(this.#engine));
      case "resume": {
        const { takeover } = answer;
        return this.#start(conversation, { did: "resume", isNew: true }, () =>
          conversation.resume(this.#engine, { takeover }),
        );
      }
    }
  }

  /** Goes on with a run in which nothing is left to decide. What was decided is recorded by now, so a run that does not go on is no refusal. */
  async #goOn(conversation: Conversation, done: Done): Promise<ActedDocument> {
    const { run } = await (await conversation.at(-1)).load();
    const waitsFor = run?.waitingFor.length ?? 0;
    if (waitsFor > 0) return acted(conversation, done, { state: "waits", waitsFor });
    if (run === null) return acted(conversation, done, { state: "done" });
    try {
      return await this.#start(conversation, done, () => conversation.resume(this.#engine));
    } catch (error) {
      return acted(conversation, done, { state: "stopped", problem: excerpt(messageOf(error), 400) });
    }
  }

  /**
   * Starts a run, and answers once it has ended, or after a moment.
   *
   * @throws what the run failed with by then.
   */
  async #start(conversation: Conversation, done: Done, work: () => Promise<unknown>): Promise<ActedDocument> {
    const { id } = conversation;
    if (this.#going.has(id)) return acted(conversation, { ...done, isNew: false }, { state: "going" });
    this.#problems.delete(id);
    const going = work().finally(() => this.#going.delete(id));
    this.#going.set(id, going);
    const timer = Promise.withResolvers<"going">();
    const said = setTimeout(() => timer.resolve("going"), saidWithinMs);
    try {
      const state = await Promise.race([going.then(stateAfter), timer.promise]);
      if (state === "going") going.catch((error: unknown) => this.#note(id, error));
      return acted(conversation, done, { state });
    } catch (error) {
      this.#note(id, error);
      throw error;
    } finally {
      clearTimeout(said);
    }
  }

  /** The log has why a run failed; of a run that did not begin, only this process knows. */
  #note(id: string, error: unknown): void {
    if (error instanceof TurnlogError && isRecorded(error)) return;
    this.#problems.set(id, excerpt(messageOf(error), 400));
  }
}

type Done = Pick<ActedDocument, "did" | "isNew">;

const acted = (
  { id }: Conversation,
  done: Done,
  { state, waitsFor = 0, problem = null }: Pick<ActedDocument, "state"> & Partial<ActedDocument>,
): ActedDocument => ({ conversation: id, ...done, state, waitsFor, problem });

const isRecorded = ({ code }: { readonly code: string }): boolean => ["run-failed", "run-cancelled"].includes(code);

/** A run that parks again waits for the next decision. */
function stateAfter(result: unknown): "done" | "waits" {
  return typeof result === "object" && result !== null && "status" in result && result.status === "parked"
    ? "waits"
    : "done";
}

/** A decision holds for the arguments that the person saw: if the model's call has others by now, it is asked about anew. */
async function checkCall(
  conversation: Conversation,
  { call: wanted, digest }: { readonly call: string; readonly digest: string | null },
): Promise<void> {
  const { run } = await (await conversation.at(-1)).load();
  const waiting = run?.waitingFor.find(({ blockId }) => blockId === wanted);
  if (waiting === undefined || waiting.digest === digest) return;
  throw new RefusedError(409, "call-changed", {
    message: "the call has other arguments now than those on the page",
    hint: "Look at it again, and decide then.",
  });
}
