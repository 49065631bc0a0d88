import { chownSync, existsSync, globSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { outcomeOf, type ProcessOptions, type Started, start } from "../process.ts";

/** Debian's place of the programs, or the one that the variable names. */
const folder =
  process.env["TURNLOG_TEST_POSTGRES_BIN"] ??
  globSync("/usr/lib/postgresql/*/bin").toSorted((left, right) => versionOf(right) - versionOf(left))[0] ??
  "";

function versionOf(path: string): number {
  return Number(/postgresql\/(\d+)/.exec(path)?.[1] ?? 0);
}

/** Whether tests can start servers here. */
export const hasPostgres = existsSync(join(folder, "initdb"));

/** Why the suites of Postgres are skipped, in one line. */
export const whyNoPostgres =
  "Postgres: skipped, because no server's programs were found: apt-get install postgresql, or set TURNLOG_TEST_POSTGRES_BIN";

export const postgresProgram = (name: string): string => join(folder, name);

/** A server of its own on a loopback port, in a temporary folder. */
export type PostgresServer = {
  readonly port: number;
  /** The address of a database, as the owner of the server or as another role. */
  readonly url: (database: string, role?: string) => string;
  /** Stops it as a crash does: nothing more is written, connections break. */
  readonly kill: () => Promise<void>;
  readonly start: () => Promise<void>;
  /** Stops it and removes its folder. */
  readonly end: () => Promise<void>;
};

/** Servers refuse to run as root. */
const nobody = 65_534;
/** The user that servers run as, if it is another one. */
export const servers: Pick<ProcessOptions, "uid" | "gid"> =
  process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};

export async function startPostgres(settings: readonly string[] = []): Promise<PostgresServer> {
  const base = mkdtempSync(join(tmpdir(), "turnlog-postgres-"));
  if (servers.uid !== undefined) chownSync(base, nobody, nobody);
  const data = join(base, "data");
  const options = { cwd: base, env: { ...process.env, LC_ALL: "C" }, ...servers };
  const made = await outcomeOf(
    postgresProgram("initdb"),
    ["-D", data, "-U", "owner", "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync"],
    options,
  );
  if (made.code !== 0) throw new Error(`initdb ended with ${String(made.code)}: ${made.stderr}`);
  const port = await freePort();
  const words = [
    ...["-D", data, "-p", String(port), "-k", base, "-c", "listen_addresses=127.0.0.1"],
    // What a server on Debian starts with, but for less memory, and more than a test asks at once.
    ...["-c", "shared_buffers=32MB", "-c", "max_connections=200", "-c", "autovacuum=off"],
    // Stores are created faster so; appends raise it themselves.
    ...["-c", "synchronous_commit=off"],
    ...settings.flatMap((setting) => ["-c", setting]),
  ];
  let running: Started | null = null;

  async function run(): Promise<void> {
    const server = start(postgresProgram("postgres"), words, options);
    running = server;
    const ready = new Promise<void>((resolve) => {
      let said = "";
      server.child.stderr?.on("data", (chunk: Buffer) => {
        said += chunk.toString();
        if (said.includes("ready to accept connections")) resolve();
      });
    });
    const gone = server.ended.then(({ code, stderr }) => {
      throw new Error(`postgres ended with ${String(code)}: ${stderr}`);
    });
    await Promise.race([ready, gone]);
    gone.catch(() => undefined);
  }
  async function stop(signal: "SIGQUIT" | "SIGINT"): Promise<void> {
    running?.child.kill(signal);
    await running?.ended;
    running = null;
  }

  await run();
  return {
    port,
    url: (database, role = "owner") => `postgres://${role}@127.0.0.1:${port}/${database}`,
    kill: () => stop("SIGQUIT"),
    start: run,
    async end() {
      await stop("SIGQUIT");
      rmSync(base, { recursive: true, force: true });
    },
  };
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => {
        if (typeof address === "object" && address !== null) resolve(address.port);
        else reject(new Error("a listening socket has an address"));
      });
    });
  });
}
