import { inOneLine } from "../../base/printable.ts";

/**
 * Why a request did not continue from a context, in words: the reasons in decisions, of unusable contexts, and of
 * contexts that lost against the chosen one. An unknown reason is returned as it is.
 */
export const describeReason = (reason: string): string => reasonWords.get(reason) ?? inOneLine(reason);

/** The same for a request: if it gave up a context, there are several possible reasons. */
export const describeRequestReason = (reason: string): string =>
  reason === "refused" ? "what its server held was given up: it was refused, lost or deleted" : describeReason(reason);

const reasonWords: ReadonlyMap<string, string> = new Map([
  // Of a request.
  ["first-request", "nothing was asked at this endpoint before"],
  ["no-anchor", "no newer context is a beginning of this Turn that can be continued from"],
  ["provider-cannot-chain", "the provider does not continue from responses"],
  ["expired", "the context is older than the policy, or its server, keeps it"],
  ["refused", "the server refused to continue from it"],
  ["illegal-continuation", "what follows the context cannot be sent alone"],
  ["connection-closed", "it was not stored, and the connection that remembered it is closed, or remembers a newer one"],
  ["continued", "it can be continued once, and was"],
  ["maybe-continued", "it can be continued once, and a request that was never answered may have"],
  ["inherited", "only the conversation that this one was forked from may continue it"],
  ["unknown-anchor", "its codec does not say how anchors of its kind may be continued"],
  ["settings-changed", "settings changed that a chain does not survive"],
  [
    "suspect",
    "the answer's echo or its count of tokens differed from what was sent: the server may not hold the context",
  ],
  ["policy", "the run is stateless"],
  ["aside", "it was asked beside the conversation, by a layer or for a summary"],
  ["warm-up", "it readies a connection, and is not to be answered"],
  // Of a context.
  ["not-found", "its server has lost it"],
  ["deleted", "its server was told to delete it"],
  ["reset", "the reasoning that it holds is not wanted any more"],
  ["evicted", "a continuation failed, and its connection remembers it no more"],
  ["no-id", "the answer had no id to continue from"],
  ["incomplete", "the answer did not complete"],
  ["not-stored", "the server was asked not to store it"],
  ["says-nothing", "its answer says nothing, and the server takes no such message before another one"],
  ["masked", "a secret was masked in the answer, so the server holds something else"],
  // Of a context, beside the one that was taken.
  ["taken", "continued from"],
  ["shorter", "another one holds more of this Turn"],
  ["older", "a newer one holds as much"],
  [
    "settings-erased",
    "its settings, or those of the request, were erased, and nothing tells whether a chain survives the change",
  ],
]);
