/** The names of streams on the server, of one store. */
export type Names = {
  /** The server's name of a stream. */
  readonly toServer: (stream: string) => string;
  /** The stream of a name on the server; null for one that is not this store's. */
  readonly toStream: (name: string) => string | null;
  /** An expression for the names of all streams that begin so, and of none but the store's and its neighbours'. */
  readonly pattern: (streamPrefix: string) => string;
  /** Where the store's id is kept. */
  readonly identity: string;
};

/** The stream that says that there is a store, and which. It is none of the store's own streams. */
const identityStream = "turnlog-store";

/**
 * Names of a namespace. The server's filter by prefix compares by the culture of its machine, where an accent that follows
 * makes another letter of the last one; by an expression it compares character by character.
 */
export function createNames(namespace: string): Names {
  // A category ends at the first hyphen, so conversations stay one category: `staging.conversation`.
  const before = namespace === "" ? "" : `${namespace}.`;
  const identity = `${before}${identityStream}`;
  return {
    toServer(stream) {
      if (stream === identityStream || stream === "" || (before === "" && stream.startsWith("$"))) {
        throw new RangeError(`${JSON.stringify(stream)} is reserved, and no name for a stream`);
      }
      return `${before}${stream}`;
    },
    toStream: (name) =>
      name === identity || name.startsWith("$") || !name.startsWith(before) ? null : name.slice(before.length),
    pattern(streamPrefix) {
      const beginning = `${before}${streamPrefix}`;
      return beginning === "" ? "^[^$]" : `^${beginning.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&")}`;
    },
    identity,
  };
}
