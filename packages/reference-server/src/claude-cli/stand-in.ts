#!/usr/bin/env node
/**
 * A stand-in for the Claude CLI: an executable that asks the reference server at `ANTHROPIC_BASE_URL` what to print, and prints it. If
 * the server becomes unreachable it dies, like a CLI that is killed.
 */
import { text } from "node:stream/consumers";
import { messagesRefusal } from "./error-lines.ts";
import { standInPath } from "./stand-in-command.ts";

// Imported, `node:http` would load the client of `fetch` as well, which takes as long as all else that the stand-in does.
const { request } = process.getBuiltinModule("node:http");

const die = (): void => void process.kill(process.pid, "SIGKILL");

const body = JSON.stringify({ arguments: process.argv.slice(2), stdin: await text(process.stdin) });
const { ANTHROPIC_BASE_URL: url = "" } = process.env;
const asked = request(`${url}${standInPath}`, { method: "POST", headers: { "content-type": "application/json" } });
asked.on("error", die);
asked.on("response", (answer) => {
  const { statusCode = 0 } = answer;
  let given = "";
  answer.setEncoding("utf8").on("error", die);
  answer.on("data", (piece: string) => {
    given += piece;
    if (statusCode === 200) process.stdout.write(piece);
  });
  answer.on("end", () => {
    if (statusCode === 200) {
      process.exitCode = given.includes('"is_error":true') ? 1 : 0;
      return;
    }
    const resumed = process.argv[process.argv.indexOf("--resume") + 1];
    const session = process.argv.includes("--resume") ? resumed : undefined;
    const { stdout, stderr } = messagesRefusal(statusCode, given, session ?? `session-${process.pid}`);
    process.stdout.write(stdout);
    process.stderr.write(stderr);
    process.exitCode = 1;
  });
});
asked.end(body);
