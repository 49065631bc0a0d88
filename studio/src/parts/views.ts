/** The views of a revision, by the names that addresses have. */
export const views = ["stack", "diff", "body", "blame", "time", "event", "why"] as const;
export type View = (typeof views)[number];
export const viewNames: Readonly<Record<View, string>> = {
  stack: "Stack",
  diff: "Diff",
  body: "Body",
  blame: "Blame",
  time: "Time",
  event: "Event",
  why: "Why",
};
