import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { turnlogHere } from "../../support/cli/command.ts";
import { startTurnlog, turnlog } from "../../support/cli/command-process.ts";
import { useDemoStore } from "../../support/cli/demo-store.ts";
import { supportFile } from "../../support/process.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { recordWaiting, waitingIds } from "../../support/studio/waiting-store.ts";

const demoStore = useDemoStore();

type Printed = { readonly data: { readonly url: string; readonly port: number; readonly store: string } };

/** Starts the command, and asks it as a browser that has opened its link does. */
async function startStudio(words: readonly string[], cwd: string) {
  const { child, firstLine, ended } = startTurnlog(["studio", ...words, "--no-open", "--json"], { cwd });
  // The process prints the document of the command.
  const { data } = JSON.parse(await firstLine) as Printed;
  const link = await fetch(data.url, { redirect: "manual" });
  const cookie = link.headers.get("set-cookie")?.split(";")[0] ?? "";
  const origin = new URL(data.url).origin;
  return {
    ...{ data, link, ended },
    get: (path: string) => fetch(`${origin}${path}`, { headers: { cookie } }),
    post: (path: string, body: unknown) =>
      fetch(`${origin}${path}`, {
        ...{ method: "POST", headers: { cookie, "content-type": "application/json" }, body: JSON.stringify(body) },
      }),
    bare: (path: string) => fetch(`${origin}${path}`),
    stop: async () => {
      child.kill("SIGINT");
      return ended;
    },
  };
}

test("studio prints a link that opens the page of a conversation, and answers nobody else", async () => {
  const { path: cwd } = demoStore();
  const studio = await startStudio(["-c", "@last", "--port", "0"], cwd);
  expect([studio.link.status, studio.link.headers.get("location")]).toEqual([302, expect.stringMatching(/^\/c\/cnv_/)]);
  const page = await studio.get("/");
  expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(await page.text()).toContain('<div id="app">');
  expect((await studio.get("/page.js")).status).toBe(200);
  expect((await studio.get("/../../package.json")).status).toBe(404);
  expect(await (await studio.get("/api/store")).json()).toMatchObject({ isWritable: false });
  expect((await studio.bare("/api/store")).status).toBe(401);
  expect((await studio.stop()).code).toBe(0);
});

test("studio reads a bundle as it reads a store", async () => {
  const folder = demoStore();
  const bundle = folder.file("talk.bundle");
  await turnlogHere(["export", "@last", "-o", bundle], { cwd: folder.path });
  const studio = await startStudio([bundle, "--port", "0"], folder.path);
  const { conversations } = (await (await studio.get("/api/conversations")).json()) as {
    readonly conversations: readonly { readonly events: number }[];
  };
  expect(conversations.map(({ events }) => events)).toEqual([66]);
  await studio.stop();
});

test("studio --write answers what waits under the name of --as, and a bundle is refused", async () => {
  const folder = temporaryFolder();
  await recordWaiting(`sqlite:${folder.file("turnlog.db")}`);
  const writes = ["--write", "--stack", supportFile("cli/cut-off-stack.ts"), "--as", "ann"];
  const studio = await startStudio([...writes, "--port", "0"], folder.path);
  expect(await (await studio.get("/api/store")).json()).toMatchObject({ isWritable: true, writing: { as: "ann" } });
  const given = await studio.post(`/api/inbox/${waitingIds.parked}`, { do: "abandon", takeover: false });
  expect([given.status, await given.json()]).toEqual([200, expect.objectContaining({ did: "abandon", isNew: true })]);
  expect((await studio.stop()).code).toBe(0);
  await turnlogHere(["export", waitingIds.failed, "-o", folder.file("talk.bundle")], { cwd: folder.path });
  const refused = await turnlog(["studio", folder.file("talk.bundle"), ...writes, "--no-open"], { cwd: folder.path });
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("import it into a store") as string });
});

test("a port that is taken exits 6 where it was asked for, and else the next one is taken", async () => {
  const { path: cwd } = demoStore();
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const outcome = await turnlog(["studio", "--port", String(port), "--no-open"], { cwd });
  expect(outcome).toMatchObject({ code: 6 });
  server.close();
});
