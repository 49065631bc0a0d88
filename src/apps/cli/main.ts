#!/usr/bin/env node
// Syntax of old Node only, and no static import, so that an old Node reaches the message below. Other modules are loaded where they
// are needed. `process` is used by its global name, because importing it opens its streams.

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 13)) {
  process.stderr.write(
    `turnlog: needs Node 22.13 or newer, but this is ${process.versions.node}: install a current one from https://nodejs.org\n`,
  );
  process.exitCode = 6;
} else {
  // Suppresses Node 22's warning that its SQLite is experimental, which tells users nothing that they need.
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (String(warning).includes("SQLite is an experimental feature")) return;
    Reflect.apply(emitWarning, process, [warning, ...rest]);
  };
  const { run } = await import("./program.ts");
  await run(process.argv);
}
