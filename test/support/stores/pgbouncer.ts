import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { start } from "../process.ts";
import { freePort, type PostgresServer, servers } from "./postgres-server.ts";

const program = "/usr/sbin/pgbouncer";

export const hasPgbouncer = existsSync(program);

export const whyNoPgbouncer = "pgbouncer: skipped, because it is not installed: apt-get install pgbouncer";

/** A pooler before a server: in transaction mode each transaction gets another connection of the server. */
export async function startPgbouncer(
  server: PostgresServer,
  mode: "transaction" | "statement" = "transaction",
): Promise<PostgresServer["url"] & AsyncDisposable> {
  const base = mkdtempSync(join(tmpdir(), "turnlog-pgbouncer-"));
  const port = await freePort();
  const file = (name: string): string => join(base, name);
  writeFileSync(file("users"), '"owner" ""\n"writer" ""\n');
  writeFileSync(
    file("ini"),
    `[databases]
* = host=127.0.0.1 port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${file("users")}
pool_mode = ${mode}
max_client_conn = 500
default_pool_size = 10
`,
  );
  for (const path of [base, file("users"), file("ini")])
    if (servers.uid !== undefined) chownSync(path, servers.uid, servers.gid ?? servers.uid);
  const { child, ended } = start(program, [file("ini")], { cwd: base, ...servers });
  await new Promise<void>((resolve, reject) => {
    let said = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes("process up")) resolve();
    });
    void ended.then(({ stderr }) => reject(new Error(`pgbouncer ended: ${stderr}`)));
  });
  const url = (database: string, role = "owner"): string => `postgres://${role}@127.0.0.1:${port}/${database}`;
  return Object.assign(url, {
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
      rmSync(base, { recursive: true, force: true });
    },
  });
}
