import type { StoredEvent } from "./event-log.ts";
import type { streams } from "./protocol.ts";
import { PAGE_SIZE } from "./visible-events.ts";

export interface EventFilter {
  matches(event: StoredEvent): boolean;
  /** Events looked at before a page ends, matching or not. */
  readonly window: number;
  /** Events looked at between two checkpoints. */
  readonly checkpointEvery: number;
}

/** The filter of a request for `$all`; null where all events are wanted. */
export function eventFilter(
  options: InstanceType<typeof streams.ReadReq.Options.FilterOptions> | undefined,
): EventFilter | null {
  if (options === undefined) return null;
  const byStream = options.getStreamIdentifier();
  const expression = byStream ?? options.getEventType();
  const regex = expression?.getRegex() ?? "";
  const prefixes = expression?.getPrefixList() ?? [];
  const pattern = regex === "" ? null : new RegExp(regex, "u");
  const accepts = (text: string): boolean =>
    pattern === null ? prefixes.some((prefix) => startsByCulture(text, prefix)) : pattern.test(text);
  const window = options.hasMax() ? options.getMax() : PAGE_SIZE;
  return {
    matches: (event) => accepts(byStream === undefined ? event.type : event.stream),
    window,
    checkpointEvery: window * options.getCheckpointintervalmultiplier(),
  };
}

/**
 * A prefix is compared by culture, as .NET does unless it is told otherwise: what nobody sees counts for nothing, and a
 * letter is another one with an accent of its own. Expressions are compared by their characters.
 */
function startsByCulture(text: string, prefix: string): boolean {
  const [seen, wanted] = [visible(text), visible(prefix)];
  return seen.startsWith(wanted) && !/^\p{Mn}/u.test(seen.slice(wanted.length));
}

const visible = (text: string): string => text.normalize("NFC").replaceAll(/[\u00AD\u200B-\u200D\uFEFF]/g, "");
