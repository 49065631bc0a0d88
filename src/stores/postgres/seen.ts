import { comparePositions } from "../../log/ports/event-store.ts";

/** The newest event that this process knows to be committed: a store that has less was set back. */
export type Seen = {
  readonly position: () => string;
  readonly note: (position: string) => void;
};

/** Only positions of events count: one that was drawn and rolled back may be drawn again after a crash of the server. */
export function createSeen(): Seen {
  let newest = "0";
  return {
    position: () => newest,
    note(position) {
      if (comparePositions(position, newest) > 0) newest = position;
    },
  };
}
