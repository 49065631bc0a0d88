import { expect, test } from "vitest";
import { isDead, lifeOf, thisProcess } from "../../../src/log/writer/owner.ts";
import { start, startAside } from "../../support/process.ts";

test("another thread of this process, or another copy of turnlog in it, is alive", () => {
  const other = { ...thisProcess(), processId: "prc_another_thread" };
  expect([lifeOf(thisProcess()), lifeOf(other), isDead(other)]).toEqual(["alive", "alive", false]);
});

test("an owner in another pid namespace, boot or machine cannot be looked for here", () => {
  // No process has this number, in any namespace.
  const gone = { ...thisProcess(), processId: "prc_gone", pid: 2 ** 30 };
  expect(lifeOf(gone)).toBe("dead");
  for (const other of [{ pidNamespace: "pid:[1]" }, { bootId: "another" }, { host: "another" }]) {
    expect(lifeOf({ ...gone, ...other })).toBe("unknown");
  }
});

const tellsStates = process.platform === "linux";
if (!tellsStates) console.warn("1 test skipped: this system does not tell the state of a process");

test.skipIf(!tellsStates)("a process that ended, and whose parent did not ask how, is dead", async () => {
  // The shell becomes a program that never asks for its children. Its child ends after that, because the shell might still ask.
  const untilThen = 'while read -r name < /proc/$$/comm && [ "$name" != sleep ]; do :; done';
  const { child, firstLine } = start("/bin/sh", ["-c", `(${untilThen}) & echo $!; exec sleep 60`]);
  const owner = { ...thisProcess(), processId: "prc_zombie", pid: Number(await firstLine), startedAt: "not told" };
  await expect.poll(() => lifeOf(owner)).toBe("dead");
  expect(process.kill(owner.pid, 0)).toBe(true);
  child.kill();
});

test("a process is gone when its number is, and alive until then", async () => {
  const { child, kill } = startAside("run/waiting-process.ts", []);
  const owner = { ...thisProcess(), processId: "prc_child", pid: child.pid ?? 0, startedAt: "not told" };
  expect(lifeOf(owner)).toBe("alive");
  await kill();
  expect(lifeOf(owner)).toBe("dead");
});

const tellsStarts = thisProcess().startedAt.startsWith("ticks-");
if (!tellsStarts) console.warn("1 test skipped: this system does not tell when a process began");

test.skipIf(!tellsStarts)("a process number that another process has now is not its owner's", () => {
  const before = { ...thisProcess(), processId: "prc_before" };
  expect(lifeOf({ ...before, startedAt: "ticks-1" })).toBe("dead");
  expect(lifeOf({ ...before, pid: process.ppid, startedAt: "ticks-1" })).toBe("dead");
  // An owner that was not told its own start is not known by it.
  expect(lifeOf({ ...before, startedAt: "2026-03-01T12:00:00.000Z" })).toBe("alive");
});
