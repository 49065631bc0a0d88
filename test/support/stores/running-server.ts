const running = process.env["TURNLOG_TEST_ESDB"];

/** The server or cluster that runs and that suites are to use as well: one address, or none (`TURNLOG_TEST_ESDB`). */
export const runningServers: readonly string[] = running === undefined ? [] : [running];

const started = Date.now().toString(36);
let stores = 0;

/** The address of a store that is empty, at a server that others use too. */
export function freshAddress(url: string): string {
  stores += 1;
  const separator = url.includes("?") ? "&" : "?";
  return `${url}${separator}turnlogNamespace=test_${started}_${process.pid}_${stores}`;
}
