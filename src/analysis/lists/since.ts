/** A time from which requests count, as ISO text. */
export function timeOf(where: string, given: Date | string): string {
  const time = given instanceof Date ? given.getTime() : typeof given === "string" ? Date.parse(given) : Number.NaN;
  if (!Number.isNaN(time)) return new Date(time).toISOString();
  throw new TypeError(`${where}: since is no time: give a Date, or ISO text such as 2026-09-01T12:30:00Z`);
}
