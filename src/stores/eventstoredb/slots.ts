/** One of the places that there are. */
type Slot = {
  /** Ending it twice changes nothing. */
  readonly release: () => void;
  /** The holder does not need it at the moment: whoever waits for a place may ask for this one, once and soon. */
  readonly lend: (giveWay: () => void) => void;
  /** The holder needs it again. */
  readonly keep: () => void;
};

type Held = { giveWay: (() => void) | null };

/**
 * Lets so many of those who ask go on at a time, in the order in which they asked. Whoever holds a place and does other
 * things meanwhile, such as asking for another one, gives way to those who wait: else all might wait for each other.
 */
export type Slots = { readonly take: () => Promise<Slot> };

/** How long those who wait leave a place to a holder who does not need it. */
const patienceMs = 50;

export function createSlots(max: number): Slots {
  const waiting: ((slot: Slot) => void)[] = [];
  const held = new Set<Held>();
  let isWatched = false;

  function create(): Slot {
    const holder: Held = { giveWay: null };
    held.add(holder);
    return {
      release() {
        if (held.delete(holder)) next();
      },
      lend(giveWay) {
        holder.giveWay = giveWay;
        watch();
      },
      keep() {
        holder.giveWay = null;
      },
    };
  }
  function next(): void {
    if (held.size < max) waiting.shift()?.(create());
  }
  /** Most holders are back, or done, before anybody has to ask. */
  function watch(): void {
    if (isWatched || waiting.length === 0) return;
    isWatched = true;
    setTimeout(() => {
      isWatched = false;
      for (const { giveWay } of [...held].filter((holder) => holder.giveWay !== null).slice(0, waiting.length))
        giveWay?.();
      watch();
    }, patienceMs).unref();
  }

  return {
    take: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        next();
        watch();
      }),
  };
}
