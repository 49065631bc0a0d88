/** An estimate that needs no codec; `why` builds the full body for an exact figure. */
export const savedPercent = ({
  bytesSent,
  bytesSaved,
}: {
  readonly bytesSent: number;
  readonly bytesSaved: number;
}): number => Math.floor((bytesSaved / (bytesSent + bytesSaved)) * 100);
