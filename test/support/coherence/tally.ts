/** What a world has shown: nothing yet. */
export const emptyTally = () => ({
  requests: 0,
  chained: 0,
  rebased: 0,
  full: 0,
  parallel: 0,
  responses: 0,
  reasoned: 0,
  failedRuns: 0,
  forks: 0,
  /** Requests whose system messages stood in the instructions. */
  instructed: 0,
  /** Requests that an injected fault answered, and requests that were refused because the server had forgotten. */
  faulty: 0,
  /** Requests that were sent again because the server had not acted on them. */
  retried: 0,
  /** Runs that asked anew although nothing waited, and deliveries that came twice. */
  again: 0,
  repeated: 0,
  /** Runs of another mode than the default. */
  stateless: 0,
  /** Requests over WebSocket, and those of them that continued from what ended with their connection. */
  overSocket: 0,
  lived: 0,
  /** Requests that had a connection ready before anybody asked, and those that continued from one. */
  warmUps: 0,
  warm: 0,
  /** Turns that the engine made shorter, before a request and after a run. */
  compacted: 0,
  inObjects: 0,
  /** Requests without parts that their wire cannot say, and without files that another server keeps. */
  omitted: 0,
  elsewhere: 0,
  /** Runs that ended for such a part. */
  refused: 0,
  /** Requests that tell the model of a run that broke off. */
  interrupted: 0,
  /** Results of calls that somebody else had spoken behind, as they were appended, and requests that say one. */
  late: 0,
  toldLate: 0,
  lost: 0,
  /** What others appended while a run was open, and the runs that they took. */
  meanwhile: 0,
  taken: 0,
  /** Damaged events that an operator skipped, of the conversation and of an ancestor, and forks that were made while there was damage. */
  skips: 0,
  parentSkips: 0,
  damagedForks: 0,
  /** Forks that a skip in an ancestor left damaged during a run. */
  leftForks: 0,
  /** Erasures between runs, the lines that they emptied, and requests that sent a stand-in. */
  erasures: 0,
  erasedLines: 0,
  standIns: 0,
  /** Answers that were compared before and after an erasure. */
  readings: 0,
  incoherent: [] as string[],
});

export type Tally = ReturnType<typeof emptyTally>;
