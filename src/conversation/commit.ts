/**
 * The method of a conversation that proposes events unchanged, for imports. It is not part of the API, because `decide` checks less of an event
 * than the folds demand. Copies of the package share the symbol.
 */
export const commit: unique symbol = Symbol.for("turnlog.commit");
