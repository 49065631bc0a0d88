/** Struck, call by call, by `test/faults/port-faults.test.ts`. */
const here = { struck: "call by call" } as const;
/** Fails once, as the only one, in the same file. */
const alone = { struck: "alone" } as const;
/** Fails, or gives what is damaged, in another suite. */
const by = (suite: string) => ({ struck: suite }) as const;

/** Every method of every port, and what makes it fail. A method that is not here has no test of its failures. */
export const portMethods = {
  EventStore: {
    append: here,
    takesLines: alone,
    namingKey: alone,
    readStream: here,
    readLog: here,
    subscribe: here,
    end: here,
    head: here,
    heads: here,
    newestStream: alone,
    orphanEvents: alone,
    savedHeads: alone,
    saveHeads: alone,
    erase: by("operations/erasure/resume"),
    checkErasure: by("operations/erasure/permission"),
    checkApproval: by("engine/approvals/permission"),
    scrub: by("operations/erasure/resume"),
    files: by("operations/erasure/search"),
    close: alone,
  },
  SnapshotStore: { get: here, put: here, deleteAll: alone },
  ViewStore: {
    builds: here,
    begin: here,
    save: here,
    publish: here,
    row: here,
    rows: alone,
    listed: here,
    countListed: here,
    places: here,
    containing: here,
    degraded: here,
  },
  Liveness: { hold: here, isAlive: here, whenKnown: alone },
  Provider: {
    infer: by("faults/error-matrix"),
    connection: by("providers/responses/web-socket-errors"),
    connect: by("engine/inference/hung-provider"),
    waitFor: by("faults/background"),
    cancel: by("faults/background"),
    delete: by("conversation/delete-stored"),
    deleteConversation: by("conversation/delete-stored"),
    storedChain: by("conversation/import-stored"),
    storedConversation: by("conversation/import-stored"),
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, { readonly struck: string }>>>>;
