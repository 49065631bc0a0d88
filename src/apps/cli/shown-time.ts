/** `2026-09-01 12:30:45`, or down to the part that a column has room for. */
export const dateAndTime = (at: string, to: keyof typeof lengthTo = "second"): string =>
  at.slice(0, lengthTo[to]).replace("T", " ");

/** `12:30:45.678`, under a line with its day. */
export const timeOfDay = (at: string): string => at.slice(lengthTo.day + 1, lengthTo.millisecond);

/** The length of an ISO 8601 time up to each part. */
const lengthTo = { day: 10, minute: 16, second: 19, millisecond: 23 } as const;
