/** `1,204` */
export const grouped = (count: number): string => String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ",");

export const counted = (count: number, noun: string): string => `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;

/** `1,689 B`: as it is counted. */
export const bytes = (count: number): string => `${grouped(count)} B`;

/** `15.6 kB`, for lists. */
export function roundBytes(count: number): string {
  if (count < 1_000) return `${count} B`;
  if (count < 999_950) return `${(count / 1_000).toFixed(1)} kB`;
  if (count < 999_950_000) return `${(count / 1_000_000).toFixed(count < 99_950_000 ? 1 : 0)} MB`;
  return `${(count / 1_000_000_000).toFixed(1)} GB`;
}

/** Exact as long as it is short. */
export const sumOfBytes = (count: number): string => (count < 1_000_000 ? bytes(count) : roundBytes(count));

/** `149 ms`, `1.2 s` */
export function duration(ms: number): string {
  if (ms < 1_000) return `${grouped(ms)} ms`;
  if (ms < 100_000) return `${(ms / 1_000).toFixed(1)} s`;
  return ms < 6_000_000 ? `${grouped(ms / 60_000)} min` : `${grouped(ms / 3_600_000)} h`;
}

/** `2 min`, `3 d`: how long ago. */
export function age(at: string, now: number = Date.now()): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(at)) / 1_000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h`;
  return `${grouped(seconds / 86_400)} d`;
}

/** `9 min`: how long until then; at least a second. */
export const timeLeft = (until: string, now: number = Date.now()): string =>
  age(new Date(2 * now - Date.parse(until)).toISOString(), now);

/** Four significant digits; sums from ten cents on have two decimals. */
export function money(dollars: string | null, isSum = false): string {
  if (dollars === null) return "not priced";
  const value = Number(dollars);
  if (value === 0) return "$0.00";
  return (isSum && value >= 0.1) || value >= 1_000
    ? `$${value.toFixed(2)}`
    : `$${Number(value.toPrecision(4)).toString()}`;
}

export const percent = (part: number, whole: number): string =>
  whole === 0 ? "" : `${Math.round((part / whole) * 100)} %`;

/** The day of a time, in words that a reader groups by. */
export function dayGroup(at: string, now: number = Date.now()): "Today" | "Yesterday" | "Earlier" {
  const day = (ms: number): string => new Date(ms).toDateString();
  if (day(Date.parse(at)) === day(now)) return "Today";
  return day(Date.parse(at)) === day(now - 86_400_000) ? "Yesterday" : "Earlier";
}

/** `2026-09-01 12:30:45 UTC` */
export const dateAndTime = (at: string): string => `${at.slice(0, 19).replace("T", " ")} UTC`;

/** `12:30:45.678` */
export const timeOfDay = (at: string): string => at.slice(11, 23);
