import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { createSettings, type Settings } from "../../../src/apps/cli/settings.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";

/** A folder with these files, by their path in it. */
function folderWith(files: Readonly<Record<string, string | object>>): string {
  const { path } = temporaryFolder();
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), typeof content === "string" ? content : JSON.stringify(content));
  }
  return path;
}

/** The settings of a command that is about to run. */
async function settled(...given: Parameters<typeof createSettings>): Promise<Settings> {
  const settings = createSettings(...given);
  await settings.ready();
  return settings;
}

const reading = (cwd: string, env: Readonly<Record<string, string>> = {}) => ({ env, cwd, readsOnly: true });

test("the option decides the store, else the environment, else the configuration, else the default", async () => {
  const cwd = folderWith({ "turnlog.config.json": { store: "sqlite:mine.db" } });
  const env = { TURNLOG_STORE: "sqlite:env.db" };
  expect((await settled({ store: "memory:" }, reading(cwd, env))).store()).toMatchObject({
    url: "memory:",
    from: "flag",
  });
  expect((await settled({}, reading(cwd, env))).store()).toMatchObject({ url: "sqlite:env.db", from: "env" });
  expect((await settled({}, reading(cwd))).store()).toEqual({
    ...{ url: `sqlite:${join(cwd, "mine.db")}`, from: "file", name: "turnlog.config.json" },
  });
  expect((await settled({}, reading(folderWith({})))).store()).toMatchObject({
    ...{ url: "sqlite:./turnlog.db", from: "default" },
  });
});

test("a name is the address of an entry, with its path made absolute, for the option, the environment and the file alike", async () => {
  const stores = { work: "sqlite:data/work.db?deadlineMs=9", shared: "postgres://host/app" };
  const cwd = folderWith({ "turnlog.config.json": { store: "shared", stores } });
  const work = `sqlite:${join(cwd, "data/work.db")}?deadlineMs=9`;
  expect((await settled({ store: "work" }, reading(cwd))).store()).toMatchObject({ url: work, from: "flag" });
  expect((await settled({}, reading(cwd, { TURNLOG_STORE: "work" }))).store().url).toBe(work);
  expect((await settled({}, reading(cwd))).store().url).toBe("postgres://host/app");
  expect(await (await settled({}, reading(cwd))).addressOf("work")).toBe(work);
  expect(await (await settled({}, reading(cwd))).addressOf("esdb://host:1")).toBe("esdb://host:1");
  const mistyped = await settled({ store: "wrok" }, reading(cwd));
  expect(() => mistyped.store()).toThrow("turnlog.config.json has no store 'wrok': did you mean 'work'?");
});

test("the search goes up to the nearest package.json, and no further; without one it stays in the folder", async () => {
  const config = { store: "sqlite:/found.db" };
  const project = folderWith({
    "turnlog.config.json": config,
    "package.json": {},
    "a/b/x": "",
    "inner/package.json": {},
  });
  const storeIn = async (cwd: string) => (await settled({}, reading(cwd))).store().url;
  expect(await storeIn(join(project, "a/b"))).toBe("sqlite:/found.db");
  expect(await storeIn(join(project, "inner"))).toBe("sqlite:./turnlog.db");
  const open = folderWith({ "turnlog.config.json": config, "below/x": "" });
  expect(await storeIn(open)).toBe("sqlite:/found.db");
  expect(await storeIn(join(open, "below"))).toBe("sqlite:./turnlog.db");
});

test("--config precedes TURNLOG_CONFIG, and both precede the search; a file that is missing is an error", async () => {
  const cwd = folderWith({
    "turnlog.config.json": { store: "sqlite:/searched.db" },
    "a.json": { store: "sqlite:/a.db" },
    "b.json": { store: "sqlite:/b.db" },
  });
  const env = { TURNLOG_CONFIG: "b.json" };
  expect((await settled({ config: "a.json" }, reading(cwd, env))).store().url).toBe("sqlite:/a.db");
  expect((await settled({}, reading(cwd, env))).store().url).toBe("sqlite:/b.db");
  expect(() => createSettings({ config: "none.json" }, reading(cwd)).files()).toThrow(
    "none.json does not exist: --config takes the path of a configuration",
  );
  expect(() => createSettings({}, reading(cwd, { TURNLOG_CONFIG: "no.ts" })).files()).toThrow(
    "no.ts does not exist: TURNLOG_CONFIG",
  );
});

test("a reading command executes no code; another one does, and lays it over the data entry by entry", async () => {
  const cwd = folderWith({
    "turnlog.config.json": { stores: { work: "sqlite:/json.db", old: "sqlite:/old.db" }, prices: "p.json" },
    "turnlog.config.mjs": `
      globalThis.turnlogConfigRuns = (globalThis.turnlogConfigRuns ?? 0) + 1;
      export default { store: "work", stores: { work: "sqlite:/code.db" } };`,
  });
  const runs = (): unknown => Reflect.get(globalThis, "turnlogConfigRuns");
  const reader = await settled({}, reading(cwd));
  expect(reader.store().url).toBe("sqlite:./turnlog.db");
  expect(reader.unreadCode()).toBe("turnlog.config.mjs");
  expect(reader.prices({})).toEqual({ prices: join(cwd, "p.json") });
  expect(runs()).toBeUndefined();
  const writer = await settled({}, { ...reading(cwd), readsOnly: false });
  expect(writer.store()).toEqual({ url: "sqlite:/code.db", from: "file", name: "turnlog.config.mjs" });
  expect(await writer.addressOf("old")).toBe("sqlite:/old.db");
  expect(writer.unreadCode()).toBeNull();
  expect(runs()).toBe(1);
  Reflect.deleteProperty(globalThis, "turnlogConfigRuns");
});

test("a command whose option names an address does not need the configuration, and does not fail because of it", async () => {
  const cwd = folderWith({ "turnlog.config.json": "{", "turnlog.config.mjs": "throw new Error()" });
  for (const readsOnly of [true, false]) {
    const settings = await settled({ store: "memory:" }, { ...reading(cwd), readsOnly });
    expect(settings.store().url).toBe("memory:");
  }
});

test("the option precedes the price file of the configuration, and adds its own names", async () => {
  const prices = { prices: "p.json", priceAs: { a: "b" } };
  const cwd = folderWith({ "turnlog.config.json": { prices } });
  const settings = await settled({}, reading(cwd));
  expect(settings.prices({ prices: "other.json" })).toEqual({ prices: "other.json" });
  expect(settings.prices({})).toEqual({ prices: join(cwd, "p.json"), priceAs: { a: "b" } });
  expect(settings.prices({ priceAs: { c: "d" } })).toEqual({ prices: join(cwd, "p.json"), priceAs: { c: "d" } });
});
