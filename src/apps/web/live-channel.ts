import * as z from "zod";
import type { JsonValue } from "../../base/json.ts";
import type { LivePiece, LiveText } from "./live-text.ts";

/**
 * Carries text that arrives from the process that runs a conversation to the pages that other processes serve. It is a help only: texts may
 * come late, twice or never, and a page still ends with the same message, because all blocks come from the log.
 */
export type LiveChannel = {
  /** Hands a text to the subscribers of a conversation, in all processes. */
  readonly publish: (conversation: string, text: string) => unknown;
  /** Calls `onText` with each text, from now on. Returns a function that ends this. */
  readonly subscribe: (
    conversation: string,
    onText: (text: string) => void,
  ) => (() => unknown) | Promise<() => unknown>;
};

const pieceSchema = z.strictObject({
  ...{ runId: z.string(), frame: z.string(), attempt: z.int(), output: z.int() },
  ...{
    kind: z.enum(["text", "reasoning", "call"]),
    name: z.exactOptional(z.string()),
    from: z.int().nonnegative(),
    text: z.string(),
  },
});
const dataSchema = z.strictObject({
  ...{ name: z.string(), data: z.custom<JsonValue>((value) => value !== undefined), call: z.string().nullable() },
});
/** What a layer or a tool shows. */
export type LiveData = z.infer<typeof dataSchema>;

const tellingSchema = z.union([
  z.strictObject({ pieces: z.array(pieceSchema) }),
  z.strictObject({ shown: dataSchema }),
  /** A process begins to listen, and asks for what it has missed. */
  z.strictObject({ isAsking: z.literal(true) }),
]);
type Telling = z.infer<typeof tellingSchema>;

type Listening = {
  readonly channel: LiveChannel;
  readonly conversation: string;
  readonly live: LiveText;
  /** Whether this process runs the conversation, so that it answers those who begin to listen. */
  readonly isRunning: () => boolean;
  readonly onPieces: () => void;
  readonly onData: (data: LiveData) => void;
};

/** One conversation's part of a channel. A channel that fails is not used any more: pages get whole blocks then. */
export class LiveLine {
  readonly #listening: Listening;
  #end: Promise<(() => unknown) | null> | null = null;
  #isBroken = false;

  constructor(listening: Listening) {
    this.#listening = listening;
  }

  listen(): void {
    const { channel, conversation } = this.#listening;
    this.#end ??= this.#trying(async () => {
      const end = await channel.subscribe(conversation, (text) => this.#hear(text));
      this.#say({ isAsking: true });
      return end;
    });
  }

  tell(piece: LivePiece): void {
    this.#say({ pieces: [piece] });
  }

  show(shown: LiveData): void {
    this.#say({ shown });
  }

  leave(): void {
    const ending = this.#end;
    this.#end = null;
    void this.#trying(async () => (await ending)?.());
  }

  #hear(text: string): void {
    const told = tellingOf(text);
    if (told === null) return;
    const { live, isRunning, onPieces, onData } = this.#listening;
    if ("shown" in told) {
      // The process that shows it has shown it to its own pages.
      if (!isRunning()) onData(told.shown);
      return;
    }
    if ("isAsking" in told) {
      const pieces = isRunning() ? live.pieces() : [];
      if (pieces.length > 0) this.#say({ pieces: [...pieces] });
      return;
    }
    for (const piece of told.pieces) live.take(piece);
    onPieces();
  }

  #say(telling: Telling): void {
    const { channel, conversation } = this.#listening;
    if (!this.#isBroken) void this.#trying(async () => channel.publish(conversation, JSON.stringify(telling)));
  }

  async #trying<T>(work: () => Promise<T>): Promise<T | null> {
    try {
      return await work();
    } catch {
      this.#isBroken = true;
      return null;
    }
  }
}

/** Null for what another version, or someone else, has said. */
function tellingOf(text: string): Telling | null {
  try {
    const parsed = tellingSchema.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}
