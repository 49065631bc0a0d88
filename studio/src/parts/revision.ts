import type { StripRequest } from "../../../src/apps/studio/page-documents.ts";
import type { StackDocument } from "../../../src/apps/studio/stack-documents.ts";
import { address } from "../route.ts";

/** A whole number of an address or a field; null if it is none. */
export const numberIn = (text: string | null): number | null =>
  text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;

/** The revision that the address names now: keys may come faster than the page is drawn. */
export const revisionNow = (last: number): number => Math.min(numberIn(address().searchParams.get("r")) ?? last, last);

/** The place on the strip of the request at a revision, or of the next one. */
export function placeOfRequest(requests: readonly (StripRequest | null)[], revision: number): number {
  const place = requests.findIndex((request) => request !== null && request.revision >= revision);
  return place < 0 ? Math.max(0, requests.length - 1) : place;
}

/** The layers that changed nothing. */
export function passedOn({ layers }: StackDocument): string {
  const idle = layers.filter(({ changed }) => changed === 0).map(({ name }) => name);
  return idle.length === 0 ? "" : `${idle.join(", ")} passed all on`;
}
