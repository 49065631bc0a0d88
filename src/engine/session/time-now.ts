/** The time of a clock as the log writes times. */
export const timeNow = ({ clock }: { readonly clock: () => number }): string => new Date(clock()).toISOString();
