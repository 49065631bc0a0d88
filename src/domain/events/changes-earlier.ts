/**
 * After it, earlier events of the conversation, also inherited ones, read otherwise: some are left out, or content of some was erased. What
 * was folded of them has to be folded anew.
 */
export const changesEarlier = ({ type }: { readonly type: string }): boolean => changing.has(type);

const changing: ReadonlySet<string> = new Set(["EventSkipped", "AncestorEventsSkipped", "LinesErased"]);
