import type { Actor } from "../../src/domain/actor.ts";
import { idOf } from "../../src/domain/block.ts";
import type { BlockId } from "../../src/domain/ids.ts";
import type { Turn } from "../../src/domain/turn.ts";
import type { Layer, LayerContext } from "../../src/engine/ports/middleware.ts";

/** Who did something, as the test saw it: `user`, `provider`, `tool`, or `<layer>/<frame>/<direction>`. */
export type Doer = string;

/** What is not in a Turn any more, and who took it out, along the way that the Turn came. */
export type Absent = ReadonlyMap<BlockId, Doer>;

/** A Turn as it was handed on in a run. `given/<frame>` or `result/<frame>`. */
export type Held = { readonly name: string; readonly turn: Turn; readonly eventsBefore: number };

/** A Turn with what the test knows of its way. */
export type Tracked = { readonly turn: Turn; readonly absent: Absent };

/**
 * Who made, changed and removed every block, kept outside turnlog: by watching what each layer gets and hands on. Every
 * version of a block says something that no other does, so its text names it.
 */
export class Truth {
  /** Who first said a text. */
  readonly sayers = new Map<string, Doer>();
  /** What each block said first. */
  readonly firstTexts = new Map<BlockId, string>();
  /** Of the run that is going on. */
  held: Held[] = [];
  readonly #countEvents: () => number;
  /** The absences of the Turn that is being handed from one layer to the next. */
  #handed: Absent = new Map();

  constructor(countEvents: () => number) {
    this.#countEvents = countEvents;
  }

  /** Everything that a Turn says for the first time was said by `doer`. */
  note(turn: Turn, doer: Doer): void {
    for (const block of turn.blocks) if (!this.sayers.has(block.text)) this.sayers.set(block.text, doer);
  }

  hold(name: string, turn: Turn): void {
    for (const block of turn.blocks) {
      if (!this.firstTexts.has(idOf(block))) this.firstTexts.set(idOf(block), block.text);
    }
    this.held.push({ name, turn, eventsBefore: this.#countEvents() });
  }

  /** The absences of a Turn that `doer` made of another. */
  absentAfter(from: Tracked, turn: Turn, doer: Doer): Absent {
    const absent = new Map(from.absent);
    const present = new Set(turn.blocks.map(({ id }) => id));
    for (const id of from.turn.blocks.map(idOf)) if (!present.has(id)) absent.set(id, doer);
    for (const id of present) if (id !== null) absent.delete(id);
    return absent;
  }

  /** A run begins with this Turn. */
  begin(): void {
    this.held = [];
    this.#handed = new Map();
  }

  /** The absences of the Turn that the run ended with. */
  get atEnd(): Absent {
    return this.#handed;
  }

  /** What a layer does, written as a function of Turns whose ways are known. */
  watch(layer: Omit<Layer, "handle">, handle: WatchedHandler): Layer {
    return {
      ...layer,
      handle: (next) => async (turn, ctx) => {
        const given: Tracked = { turn, absent: this.#handed };
        this.hold(`given/${ctx.frame}`, turn);
        let calls = 0;
        const watchedNext = async (from: Tracked, changed: Turn): Promise<Tracked> => {
          const doer = `${layer.name}/${ctx.frame}/request`;
          const frame = `${ctx.frame}.${calls}`;
          calls += 1;
          this.note(changed, doer);
          const handed = this.absentAfter(from, changed, doer);
          this.#handed = handed;
          const result = await next(changed);
          this.hold(`result/${frame}`, result);
          const answered = { turn: result, absent: this.#handed };
          return answered;
        };
        const { from, turn: returned } = await handle(given, watchedNext, ctx);
        const doer = `${layer.name}/${ctx.frame}/response`;
        this.note(returned, doer);
        this.#handed = this.absentAfter(from, returned, doer);
        return returned;
      },
    };
  }

  /** A provider or tool spoke. */
  said(text: string, doer: Doer): string {
    this.sayers.set(text, doer);
    return text;
  }
}

/** A layer that says of every Turn it hands on which one it was made of. */
export type WatchedHandler = (
  given: Tracked,
  next: (from: Tracked, changed: Turn) => Promise<Tracked>,
  ctx: LayerContext,
) => Promise<{ readonly from: Tracked; readonly turn: Turn }>;

/** An actor of the log, in the words of the truth. */
export function doerOf(actor: Actor): Doer {
  if (actor.kind === "middleware") return `${actor.name}/${actor.frame}/${actor.direction}`;
  return actor.kind;
}
