const dayMs = 24 * 60 * 60 * 1000;

/**
 * Gives this thread another date, a day on, and other random numbers. What code draws from `crypto` is another each time anyway. Returns
 * a function that restores them. Call it before code is loaded that keeps them.
 */
export function enterOtherWorld(): () => void {
  const { Date: RealDate } = globalThis;
  const { random } = Math;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, given: readonly unknown[], newTarget) =>
      // Node makes the date; only "now" is another.
      Reflect.construct(target, given.length === 0 ? [RealDate.now() + dayMs] : [...given], newTarget) as Date,
    apply: () => new RealDate(RealDate.now() + dayMs).toString(),
    get: (target, name, receiver) =>
      name === "now" ? () => RealDate.now() + dayMs : (Reflect.get(target, name, receiver) as unknown),
  });
  let state = 0x9e3779b9;
  Math.random = () => {
    // A linear congruential generator: its numbers only have to be others.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  return () => {
    globalThis.Date = RealDate;
    Math.random = random;
  };
}
