import { chownSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCertificate } from "../eventstoredb/certificate.ts";
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

/** Packages that bring a server alone lack some. */
export const hasPostgresProgram = (name: string): boolean => existsSync(postgresProgram(name));

/** A server of its own on a loopback port, in a temporary folder. */
export type PostgresServer = {
  readonly port: number;
  /** Its certificate, if it speaks TLS. */
  readonly certificateFile: string;
  /** The address of a database, as the owner of the server or as another role. */
  readonly url: (database: string, role?: string) => string;
  /** Stops it as a crash does: nothing more is written, connections break. */
  readonly kill: () => Promise<void>;
  readonly start: () => Promise<void>;
  /** Stops it and removes its folder. */
  readonly end: () => Promise<void>;
};

/** How long a server may take to start: after a crash it reads its log first. */
const startMs = 60_000;

/** Servers refuse to run as root. */
const nobody = 65_534;
/** The user that servers run as, if it is another one. */
export const servers: Pick<ProcessOptions, "uid" | "gid"> =
  process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};

type PostgresServerOptions = {
  /** Whether it speaks TLS, too. */
  readonly tls?: boolean;
  /** More settings, such as `synchronous_commit=on`. */
  readonly settings?: readonly string[];
  /** Begins as a standby of this server. */
  readonly standbyOf?: PostgresServer;
};

export async function startPostgres({
  tls = false,
  standbyOf,
  settings: more = [],
}: PostgresServerOptions = {}): Promise<PostgresServer> {
  const base = mkdtempSync(join(tmpdir(), "turnlog-postgres-"));
  if (servers.uid !== undefined) chownSync(base, nobody, nobody);
  const data = join(base, "data");
  const certificateFile = join(base, "server.crt");
  const options = { cwd: base, env: { ...process.env, LC_ALL: "C" }, ...servers };
  const [program, words] =
    standbyOf === undefined
      ? ["initdb", ["-D", data, "-U", "owner", "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync"]]
      : ["pg_basebackup", ["-D", data, "-R", "--checkpoint=fast", "--no-sync", "-d", standbyOf.url("postgres")]];
  const made = await outcomeOf(postgresProgram(program), words, options);
  if (made.code !== 0) throw new Error(`${program} ended with ${String(made.code)}: ${made.stderr}`);
  // The one role that needs a password.
  const rules = join(data, "pg_hba.conf");
  if (standbyOf === undefined)
    writeFileSync(rules, `host all guarded 127.0.0.1/32 scram-sha-256\n${readFileSync(rules, "utf8")}`);
  if (tls) writeCertificate(base);
  const port = await freePort();
  const settings = [
    ...["-D", data, "-p", String(port), "-k", base, "-c", "listen_addresses=127.0.0.1"],
    // What a server on Debian starts with, but for less memory, and more than a test asks at once.
    ...["-c", "shared_buffers=32MB", "-c", "max_connections=200", "-c", "autovacuum=off"],
    // Stores are created faster so; appends raise it themselves.
    ...["-c", "synchronous_commit=off"],
    ...more.flatMap((setting) => ["-c", setting]),
    ...(tls ? ["-c", "ssl=on", "-c", `ssl_cert_file=${certificateFile}`, "-c", `ssl_key_file=${base}/server.key`] : []),
  ];
  let running: Started | null = null;

  async function run(): Promise<void> {
    const server = start(postgresProgram("postgres"), settings, options);
    running = server;
    const ready = new Promise<void>((resolve) => {
      let said = "";
      server.child.stderr?.on("data", (chunk: Buffer) => {
        said += chunk.toString();
        if (/ready to accept (read-only )?connections/.test(said)) resolve();
      });
    });
    const gone = server.ended.then(({ code, stderr }) => {
      throw new Error(`postgres ended with ${String(code)}: ${stderr}`);
    });
    // A server that starts and never says that it is ready would outlive the tests.
    const late = setTimeout(() => server.child.kill("SIGQUIT"), startMs);
    try {
      await Promise.race([ready, gone]);
    } finally {
      clearTimeout(late);
      gone.catch(() => undefined);
    }
  }
  async function stop(signal: "SIGQUIT" | "SIGINT"): Promise<void> {
    running?.child.kill(signal);
    await running?.ended;
    running = null;
  }

  await run();
  return {
    ...{ port, certificateFile },
    url: (database, role = "owner") => `postgres://${role}@127.0.0.1:${port}/${database}`,
    kill: () => stop("SIGQUIT"),
    start: run,
    async end() {
      await stop("SIGQUIT");
      rmSync(base, { recursive: true, force: true });
    },
  };
}

function writeCertificate(folder: string): void {
  const { certificatePem, privateKeyPem } = createCertificate();
  for (const [name, text] of [
    ["server.crt", certificatePem],
    ["server.key", privateKeyPem],
  ] as const) {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    if (servers.uid !== undefined) chownSync(join(folder, name), nobody, nobody);
  }
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
