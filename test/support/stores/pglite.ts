import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import type { PGlite } from "@electric-sql/pglite";
import * as z from "zod";

/** PostgreSQL in this process, at a loopback port. */
export type PgliteServer = {
  readonly url: string;
  readonly end: () => Promise<void>;
};

/**
 * Serves PostgreSQL's protocol from PGlite, which has one session: each batch of messages runs alone, and a transaction keeps the session
 * until it ends, as behind a pooler in transaction mode. It writes nothing to a disk.
 */
export async function startPglite(): Promise<PgliteServer> {
  const database = await createDatabase();
  const take = createQueue();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => void sockets.delete(socket));
    serve(socket, { database, take });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a listening socket has an address");
  return {
    url: `postgres://postgres@127.0.0.1:${address.port}/postgres`,
    async end() {
      for (const socket of sockets) socket.destroy();
      await new Promise<unknown>((resolve) => void server.close(resolve));
      (await take())();
      await database.close();
    },
  };
}

/** Creating a database takes seconds, so an empty one is kept for the next run. */
async function createDatabase(): Promise<PGlite> {
  // Loaded here only: it is 10 MB of WebAssembly.
  const { PGlite: Database } = await import("@electric-sql/pglite");
  const modules = join(import.meta.dirname, "../../../node_modules");
  // Its `exports` hide it from `import`.
  const { version } = packageSchema.parse(
    JSON.parse(readFileSync(join(modules, "@electric-sql/pglite/package.json"), "utf8")),
  );
  const folder = join(modules, ".cache/pglite");
  const kept = join(folder, `${version}.tar`);
  if (existsSync(kept)) return Database.create({ loadDataDir: new Blob([readFileSync(kept)]) });
  const database = await Database.create();
  const empty = await database.dumpDataDir("none");
  mkdirSync(folder, { recursive: true });
  // Whole or not at all, because other workers may read it.
  writeFileSync(`${kept}.${process.pid}`, Buffer.from(await empty.arrayBuffer()));
  renameSync(`${kept}.${process.pid}`, kept);
  return database;
}

const packageSchema = z.object({ version: z.string() });

/** Waits until the session is free; calling the result frees it. */
type Take = () => Promise<() => void>;

function createQueue(): Take {
  let last: Promise<unknown> = Promise.resolve();
  return async () => {
    const before = last;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    last = promise;
    await before;
    return () => resolve(undefined);
  };
}

type Session = { readonly database: PGlite; readonly take: Take };

function serve(socket: Socket, { database, take }: Session): void {
  let rest: Buffer = Buffer.alloc(0);
  let hasBegun = false;
  let batch: Buffer[] = [];
  let release: (() => void) | null = null;
  let work: Promise<void> = Promise.resolve();

  async function execute(messages: Buffer): Promise<void> {
    release ??= await take();
    const answer = await database.execProtocolRaw(messages);
    if (!socket.destroyed) socket.write(answer);
    if (isIdle(answer)) free();
  }
  function free(): void {
    release?.();
    release = null;
  }
  /** A connection that ends in a transaction has it rolled back. */
  async function leave(): Promise<void> {
    if (release !== null) await database.execProtocolRaw(message("Q", Buffer.from("ROLLBACK\0")));
    free();
  }

  socket.on("data", (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    for (let typeLength = hasBegun ? 1 : 0; rest.length >= typeLength + 4; typeLength = hasBegun ? 1 : 0) {
      const length = typeLength + rest.readInt32BE(typeLength);
      if (rest.length < length) return;
      const one = rest.subarray(0, length);
      rest = rest.subarray(length);
      if (!hasBegun) {
        hasBegun = one.readInt32BE(4) !== tlsRequest;
        socket.write(hasBegun ? greeting : "N");
        continue;
      }
      batch.push(one);
      const type = String.fromCharCode(one[0] ?? 0);
      if (type === "X") socket.end();
      if (type !== "Q" && type !== "S") continue;
      const messages = Buffer.concat(batch);
      batch = [];
      work = work.then(() => execute(messages)).catch(() => void socket.destroy());
    }
  });
  socket.on("error", () => undefined);
  socket.on("close", () => void work.then(leave));
}

const tlsRequest = 80_877_103;

function message(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type), length, body]);
}

const readyType = "Z".charCodeAt(0);

/** Whether the answer ends with the message that the session is outside of a transaction. */
const isIdle = (answer: Uint8Array): boolean => answer.at(-6) === readyType && answer.at(-1) === "I".charCodeAt(0);

/** What a server says to a client that it trusts. */
const greeting = Buffer.concat([
  message("R", Buffer.alloc(4)),
  message("S", Buffer.from("client_encoding\0UTF8\0")),
  message("Z", Buffer.from("I")),
]);
