/**
 * Names a response by the endpoint that gave its id: another endpoint may give the same one. With the id null it names all that
 * the endpoint holds.
 */
export const anchorName = ({
  scope,
  responseId,
}: {
  readonly scope: string;
  readonly responseId: string | null;
}): string => JSON.stringify([scope, responseId]);
