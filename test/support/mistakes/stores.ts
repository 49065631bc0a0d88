import { copyConversations, exportBundle, importBundle } from "../../../src/entries/copy.ts";
import { conversationList, createProjector } from "../../../src/entries/projections.ts";
import { reexecute, replayFolds, whatIf } from "../../../src/entries/replay.ts";
import { backUpStore, restoreStore } from "../../../src/entries/sqlite.ts";
import { openStore } from "../../../src/index.ts";
import { engine, type Mistake, odd } from "./mistake.ts";

/** A store with a conversation of one answered message. */
async function answered() {
  const store = await openStore("memory:");
  const made = store.conversation("cnv_mistakes");
  await made.append("hello");
  await made.run(engine());
  return { store, made, stream: `conversation-${made.id}` };
}

const search = async (text: string, options: object = {}) => (await openStore("memory:")).search(text, odd(options));
const list = async (options: object) => (await openStore("memory:")).list(odd(options));

/** What is done with stores, and with what they hold. */
export const storeMistakes: readonly Mistake[] = [
  [
    "openStore()",
    () => openStore(odd(undefined)),
    "openStore: the address is undefined: give one such as sqlite:./turnlog.db, or memory:",
  ],
  [
    "openStore('./turnlog.db')",
    () => openStore("./turnlog.db"),
    "./turnlog.db is not the address of a store: did you mean sqlite:./turnlog.db?",
  ],
  [
    "openStore('file:./turnlog.db')",
    () => openStore("file:./turnlog.db"),
    "file:./turnlog.db is not the address of a store: did you mean sqlite:./turnlog.db?",
  ],
  [
    "openStore('C:\\turnlog.db')",
    () => openStore("C:\\turnlog.db"),
    "C:\\turnlog.db is not the address of a store: did you mean sqlite:C:\\turnlog.db?",
  ],
  [
    "openStore('redis://host')",
    () => openStore("redis://me:secret@host"),
    "redis://host is not the address of a store: use sqlite:PATH, postgres://HOST/DATABASE, esdb://HOST:PORT, or memory: for tests and temporary work",
  ],
  ["openStore('memory')", () => openStore("memory"), "memory is not the address of a store: did you mean memory:?"],
  [
    "openStore(…, { mustexist })",
    () => openStore("memory:", odd({ mustexist: true })),
    "openStore has no option 'mustexist': did you mean 'mustExist'?",
  ],
  [
    "openStore(…, { authorize: true })",
    () => openStore("memory:", odd({ authorize: true })),
    "openStore: authorize is a boolean: give a function",
  ],
  ["list({ limit: -1 })", () => list({ limit: -1 }), "list: limit is -1: give a whole number of at least 1"],
  [
    "search('')",
    () => search(""),
    'search: text is an empty text: give words, or a phrase in double quotes: weather "in Paris"',
  ],
  [
    "search(' \"\" ')",
    () => search(' "" '),
    'search: text has no words: give words, or a phrase in double quotes: weather "in Paris"',
  ],
  [
    "search('a', { limit: -1 })",
    () => search("a", { limit: -1 }),
    "search: limit is -1: give a whole number of at least 1",
  ],
  [
    "exportBundle('sqlite:a.db')",
    () => exportBundle(odd("sqlite:a.db")).next(),
    "exportBundle takes an open store, not a text: open it with openStore",
  ],
  [
    "exportBundle(store, { redacted })",
    async () => exportBundle(await openStore("memory:"), odd({ redacted: true })).next(),
    "exportBundle has no option 'redacted': did you mean 'redact'?",
  ],
  [
    "importBundle('a.bundle', store)",
    async () => importBundle(odd("a.bundle"), await openStore("memory:")),
    "importBundle: what reads the bundle is a text: give a function",
  ],
  [
    "importBundle(read, 'sqlite:a.db')",
    async () =>
      importBundle(
        odd(() => []),
        odd("sqlite:a.db"),
      ),
    "importBundle takes an open store, not a text: open it with openStore",
  ],
  [
    "backUpStore('', 'a.backup')",
    () => backUpStore("", "a.backup"),
    "backUpStore: the store's path is an empty text: give the path of a file",
  ],
  [
    "restoreStore('a.backup', 'a.db', { force: 'yes' })",
    () => restoreStore("a.backup", "a.db", odd({ force: "yes" })),
    "restoreStore: force is a text: give true or false",
  ],
  ["search('a', { limt })", () => search("a", { limt: 1 }), "search has no option 'limt': did you mean 'limit'?"],
  ["list({ limits })", () => list({ limits: 5 }), "list has no option 'limits': did you mean 'limit'?"],
  [
    "list({ after: null })",
    () => list({ after: null }),
    "list: after is null: give `next` of the page before, or leave it out",
  ],
  [
    "list({ after: 'cnv_a' })",
    () => list({ after: "cnv_a" }),
    "list: after is not a place in a list: give `next` of the page before, or leave it out",
  ],
  ["list({ sort: 'lastat' })", () => list({ sort: "lastat" }), "list: sort is 'lastat': did you mean 'lastAt'?"],
  ["list({ order: 'asc' })", () => list({ order: "asc" }), "list: order is 'asc': give 'ascending' or 'descending'"],
  [
    "list({ since: 'yesterday' })",
    () => list({ since: "yesterday" }),
    "list: since is not a time: give a Date, or ISO text such as 2026-09-01T12:30:00Z",
  ],
  ["list({ state: 'runing' })", () => list({ state: "runing" }), "list: state is 'runing': did you mean 'running'?"],
  ["list({ losses: false })", () => list({ losses: false }), "list: losses is a boolean: give true, or leave it out"],
  [
    "search('a', { labels: ['ann'] })",
    () => search("a", { labels: ["ann"] }),
    'search: labels is a list: give { name: "value" }',
  ],
  ["list({ labels: { user: 5 } })", () => list({ labels: { user: 5 } }), "list: labels.user is 5: give a text"],
  [
    "createProjector(store, …)",
    async () => createProjector(odd(await openStore("memory:")), conversationList),
    "createProjector takes a store's events, not an object: write store.events",
  ],
  [
    "createProjector(store.events)",
    async () => createProjector((await openStore("memory:")).events, odd(undefined)),
    "createProjector takes a projection: { name, version, lineage, key, initial, apply }",
  ],
  [
    "createProjector(…, { maxEvents })",
    async () => createProjector((await openStore("memory:")).events, conversationList, odd({ eventsMax: 5 })),
    "createProjector has no option 'eventsMax': give 'stream', 'views', 'maxEvents', 'saveWithinMs' or 'pause'",
  ],
  [
    "createProjector(…, { maxEvents: 0 })",
    async () => createProjector((await openStore("memory:")).events, conversationList, { maxEvents: 0 }),
    "createProjector: maxEvents is 0: give a whole number of at least 1",
  ],
  [
    "catchUp({ onprogress })",
    async () =>
      createProjector((await openStore("memory:")).events, conversationList).catchUp(odd({ onprogress: null })),
    "catchUp has no option 'onprogress': did you mean 'onProgress'?",
  ],
  [
    "replayFolds(store)",
    async () => replayFolds(odd((await answered()).store)),
    "replayFolds takes a conversation, not an object: write store.conversation(id)",
  ],
  [
    "replayFolds(conversation, { codecs: [] })",
    async () => replayFolds((await answered()).made, { codecs: odd([]) }),
    "replayFolds: codecs is a list: give a store's codecs, or leave it out for the conversation's",
  ],
  [
    "reexecute(…, { too })",
    async () => reexecute((await answered()).made, engine(), odd({ too: 3 })),
    "reexecute has no option 'too': did you mean 'to'?",
  ],
  [
    "reexecute() without an engine",
    async () => reexecute((await answered()).made, odd({})),
    "reexecute takes an engine, not an object: make one with createEngine({ provider })",
  ],
  [
    "whatIf(store.log, …)",
    async () => whatIf(odd((await answered()).store.log), engine()),
    "whatIf takes a conversation, not an object: write store.conversation(id)",
  ],
  [
    "copyConversations(store.events, …)",
    async () => {
      const { store } = await answered();
      return copyConversations(odd(store.events), store);
    },
    "copyConversations takes two open stores, not an object: open them with openStore",
  ],
  [
    "copyConversations(…, { conversation })",
    async () => {
      const { store } = await answered();
      return copyConversations(store, store, odd({ conversation: ["cnv_x"] }));
    },
    "copyConversations has no option 'conversation': did you mean 'conversations'?",
  ],
];
