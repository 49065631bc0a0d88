/** A conversation in the tree of those that began from one another. */
export type ForkRow = {
  readonly conversation: string;
  /** Null if it is not in this store. */
  readonly title: string | null;
  /** How far it is from the oldest. */
  readonly depth: number;
  readonly origin: "fork" | "child" | null;
  /** The revision of its parent at which it began; null if it inherits nothing. */
  readonly from: number | null;
  readonly events: number;
  readonly chained: number;
  readonly rebased: number;
  readonly full: number;
  readonly lastAt: string | null;
  /** Of its open run; null if none is open. */
  readonly state: string | null;
};

export type ForksDocument = {
  readonly conversation: string;
  /** Each below the one that it began from. */
  readonly rows: readonly ForkRow[];
  readonly hasMore: boolean;
};
