/** One of the places that there are. */
type Slot = {
  /** Ending it twice changes nothing. */
  readonly release: () => void;
  /** The holder does not need it at the moment: whoever waits for a place may ask for this one, once and soon. */
  readonly lend: (giveWay: () => void) => void;
  /** The holder needs it again. */
  readonly keep: () => void;
};

/**
 * Lets so many of those who ask go on at a time, in the order in which they asked. Whoever holds a place and does other
 * things meanwhile, such as asking for another one, gives way to those who wait: else all might wait for each other.
 */
export type Slots = { readonly take: () => Promise<Slot> };

/** How long those who wait leave a place to a holder who does not need it. */
const patienceMs = 50;

export function createSlots(max: number): Slots {
  const waiting: ((slot: Slot) => void)[] = [];
  const lent = new Map<Slot, () => void>();
  let free = max;
  let isWatched = false;

  function create(): Slot {
    let isHeld = true;
    const slot: Slot = {
      release() {
        lent.delete(slot);
        if (!isHeld) return;
        isHeld = false;
        free += 1;
        next();
      },
      lend(giveWay) {
        if (!isHeld) return;
        lent.set(slot, giveWay);
        watch();
      },
      keep() {
        lent.delete(slot);
      },
    };
    return slot;
  }
  function next(): void {
    if (free === 0) return;
    const go = waiting.shift();
    if (go === undefined) return;
    free -= 1;
    go(create());
  }
  /** Most holders are back, or done, before anybody has to ask. */
  function watch(): void {
    if (isWatched || waiting.length === 0 || lent.size === 0) return;
    isWatched = true;
    setTimeout(() => {
      isWatched = false;
      for (const [slot, giveWay] of [...lent].slice(0, waiting.length)) {
        lent.delete(slot);
        giveWay();
      }
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
