/** How many events a second were taken in of late. */
export type RateMeter = {
  /** Counts from now on. */
  readonly begin: () => void;
  readonly note: (events: number) => void;
  readonly perSecond: () => number;
};

/** How far back it looks, and how finely. */
const windowMs = 10_000;
const slotMs = 100;

export function createRateMeter(now: () => number): RateMeter {
  let began = now();
  let slots: { readonly at: number; events: number }[] = [];
  return {
    begin() {
      began = now();
      slots = [];
    },
    note(events) {
      const at = now();
      const last = slots.at(-1);
      if (last !== undefined && at - last.at < slotMs) last.events += events;
      else slots = [...slots.filter((slot) => slot.at >= at - windowMs), { at, events }];
    },
    perSecond() {
      const from = Math.max(began, now() - windowMs);
      const events = slots.reduce((sum, slot) => (slot.at >= from ? sum + slot.events : sum), 0);
      return (events * 1_000) / Math.max(now() - from, 1);
    },
  };
}
