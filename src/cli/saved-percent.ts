/** An estimate, which takes no codec: `why` makes the body that everything would have been. */
export const savedPercent = ({
  bytesSent,
  bytesSaved,
}: {
  readonly bytesSent: number;
  readonly bytesSaved: number;
}): number => Math.floor((bytesSaved / (bytesSent + bytesSaved)) * 100);
