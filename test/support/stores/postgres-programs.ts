import { test } from "vitest";
import { hasPostgresProgram } from "./postgres-server.ts";

/** A test that also needs this program of Postgres; without it, a counted line says so. */
export function testWithProgram(program: string, title: string, run: () => Promise<void>): void {
  if (hasPostgresProgram(program)) test(title, run);
  else test.skip(`${title}: skipped, because the server's programs lack ${program}`);
}
