/** Rejects with the signal's reason when it aborts; for races. */
export function rejectionOf(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  // The race that it is made for may be over by then.
  promise.catch(() => undefined);
  const fail = (): void => {
    reject(signal.reason);
  };
  if (signal.aborted) fail();
  else signal.addEventListener("abort", fail, { once: true });
  return promise;
}
