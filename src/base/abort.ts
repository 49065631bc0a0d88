/** Rejects with the signal's reason when it aborts; for races. */
export function rejectionOf(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  // The race may be over by the time it rejects.
  promise.catch(() => undefined);
  const fail = (): void => {
    reject(signal.reason);
  };
  if (signal.aborted) fail();
  else signal.addEventListener("abort", fail, { once: true });
  return promise;
}

/** A signal that aborts with an outer one, or through `end`; after that it no longer listens to the outer one. */
export function innerSignal(outer: AbortSignal): {
  readonly signal: AbortSignal;
  readonly end: (reason: unknown) => void;
} {
  const controller = new AbortController();
  const follow = (): void => {
    controller.abort(outer.reason);
  };
  if (outer.aborted) follow();
  else outer.addEventListener("abort", follow, { once: true });
  return {
    signal: controller.signal,
    end(reason) {
      outer.removeEventListener("abort", follow);
      controller.abort(reason);
    },
  };
}
