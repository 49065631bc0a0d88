/** A fault that is planted in the sources: a short text that stands in a file once, and what takes its place. */
export type PlantedFault = {
  readonly of: string;
  /** From the root of the repository. */
  readonly file: string;
  readonly find: string;
  readonly put: string;
  /** The nearest suite that must not let it pass. */
  readonly suite: string;
};
