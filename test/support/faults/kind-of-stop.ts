import type { Breakpoint } from "../../../src/engine/session/breakpoint.ts";

/** What is written, asked or called at a stop, and whether it is held before that or after: stops of one kind are much alike. */
export function kindOfStop(stop: Breakpoint): string {
  const { kind, phase } = stop;
  if (kind === "append") return `${phase} ${[...new Set(stop.entries.map(({ event }) => event.type))].join(", ")}`;
  if (kind === "tool") return `${phase} ${kind} ${stop.call.name}`;
  return kind === "effect" ? `${phase} ${kind} ${stop.name}` : `${phase} ${kind}`;
}
