import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { printable } from "../../../base/printable.ts";
import type { TurnlogStore } from "../../../conversation/turnlog-store.ts";
import { studioDocument } from "../../documents/running.ts";
import { type GuardOptions, guarded, newToken } from "../../studio/guard.ts";
import { LabReport } from "../../studio/lab-report.ts";
import { listen } from "../../studio/listen.ts";
import { pageFiles } from "../../studio/page-files.ts";
import { studioOver } from "../../studio/studio.ts";
import { type NamedStack, WhatIf } from "../../studio/what-if.ts";
import { Writing, type WritingOptions } from "../../studio/writing.ts";
import { builtPage } from "../built-page.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { type CliContext, shownUrl } from "../context.ts";
import { NotFoundError, UsageError } from "../exit-codes.ts";
import { findConversation } from "../find.ts";
import { openBundle } from "../open-bundle.ts";
import { pricesIn } from "../price-files.ts";
import { codecsOf, loadEngine } from "../stack-file.ts";

type Options = {
  readonly port?: number;
  readonly host: string;
  readonly allowHost?: readonly string[];
  readonly open: boolean;
  readonly prices?: string;
  readonly conversation?: string;
  readonly write?: boolean;
  readonly stack?: string;
  readonly as?: string;
  readonly with?: string;
  readonly report?: string;
};

const usualPort = 4777;

/** Serves the studio until a signal interrupts it, which is its normal end. */
export const studio = commandCode({
  document: studioDocument,

  async *run(context, { arguments: [place], options }: CommandInput<Options>) {
    const { host, allowHost: hosts = [], port = usualPort } = options;
    if (!isLoopback(host) && hosts.length === 0)
      throw new UsageError(`--host ${host} lets other machines in: name the host that they ask for with --allow-host`);
    // A file that cannot be used is refused now, not on the page.
    const { prices } = context.settings.prices(options);
    await pricesIn(prices === undefined ? {} : { prices });
    const { settings } = context;
    const writer = await writerOf(options, settings);
    const report =
      options.report === undefined
        ? {}
        : { report: LabReport.of(options.report, await readFile(options.report, "utf8")) };
    const [stack, other] = [await namedStack(options.stack, settings), await namedStack(options.with, settings)];
    await using opened = await storeAt(context, place, writer === null ? "read" : "write");
    const { store, address } = opened;
    const begin = options.report === undefined ? "/" : "/report";
    const path =
      options.conversation === undefined ? begin : `/c/${(await findConversation(store, options.conversation)).id}`;
    const folder = await builtPage(context);
    const token = newToken();
    const served = studioOver(
      { store, access: () => true, address, ...(prices === undefined ? {} : { prices }) },
      {
        ...{ file: pageFiles(folder), ...report },
        ...(writer === null ? {} : { writing: new Writing({ store, ...writer }) }),
        ...(stack === null && other === null ? {} : { whatIf: new WhatIf(store.events, { stack, other }) }),
      },
    );
    const guard = (taken: number): GuardOptions => ({ port: taken, hosts, token });
    const orNext = options.port === undefined;
    await using listening = await listen({ host, port, orNext }, (taken) => guarded(served, guard(taken)));
    if (orNext && listening.port !== port) context.note(`port ${port} is taken: this studio has ${listening.port}`);
    if (!isLoopback(host))
      context.note(
        `${host} is open to other machines: anyone who has the link can read the store${writer === null ? "" : `, and decide as ${writer.as}`}`,
      );
    const url = `http://${isLoopback(host) ? "127.0.0.1" : (hosts[0] ?? host)}:${listening.port}${path}?token=${token}`;
    yield { url, port: listening.port, store: address };
    if (options.open) openBrowser(url);
    if (!context.signal.aborted) await once(context.signal, "abort");
  },

  render({ url }, { print, note }) {
    print(url);
    note("open this link in a browser; Ctrl-C ends it");
  },
});

const isLoopback = (host: string): boolean => ["127.0.0.1", "localhost", "::1"].includes(host);

type Opened = AsyncDisposable & { readonly store: TurnlogStore; readonly address: string };

/**
 * The engine that goes on with runs, and who decides; null for a studio that only reads.
 *
 * @throws {UsageError} if one of the three options is missing, or the module exports no engine.
 */
async function writerOf(
  { write = false, stack, as }: Options,
  settings: CliContext["settings"],
): Promise<Omit<WritingOptions, "store"> | null> {
  if (!write) {
    if (as === undefined) return null;
    throw new UsageError("--as is for a page that may answer what waits: give --write too");
  }
  if (stack === undefined || as === undefined)
    throw new UsageError("--write needs --stack FILE, whose engine goes on with runs, and --as NAME, who decides");
  return { engine: await loadEngine(stack, settings), stack, as };
}

/** The stack that a module exports; null without a module. */
async function namedStack(file: string | undefined, settings: CliContext["settings"]): Promise<NamedStack | null> {
  if (file === undefined) return null;
  return { file, engine: await loadEngine(file, settings), codecs: await codecsOf(file, settings) };
}

/** A store by its address, a bundle by its path, or the store of `--store`. */
async function storeAt(context: CliContext, place: string | undefined, use: "read" | "write"): Promise<Opened> {
  const isFile = place !== undefined && existsSync(place);
  if (!isFile && place?.endsWith(".bundle") === true)
    throw new NotFoundError(`there is no file ${printable(place)}: \`turnlog export\` writes bundles`);
  const isBundle = isFile && !place.endsWith(".db");
  if (isBundle && use === "write")
    throw new UsageError(`${place} is a bundle, which is only read: import it into a store to answer what waits`);
  const store = isBundle ? await openBundle(place) : await context.openStore(use, { url: place });
  const address = isBundle ? place : shownUrl(place ?? context.storeUrl);
  return { store, address, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

/** A browser that does not start is no error: the link is printed. */
function openBrowser(url: string): void {
  const { BROWSER: named } = process.env;
  if (named === "none") return;
  const program = named ?? { darwin: "open", win32: "explorer" }[process.platform as string] ?? "xdg-open";
  const child = spawn(program, [url], { stdio: "ignore", detached: true });
  child.on("error", () => undefined);
  child.unref();
}
