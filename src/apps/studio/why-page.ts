import type { WhyDocument } from "../documents/requests.ts";

/** What `turnlog why` prints, with a part of its two long lists, and how long they are. */
export type WhyPage = WhyDocument & {
  readonly from: number;
  readonly all: { readonly candidates: number; readonly sent: number };
};
