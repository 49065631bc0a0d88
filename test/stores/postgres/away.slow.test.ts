import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { createStore } from "../../../src/entries/store.ts";
import type { EventStore } from "../../../src/log/ports/event-store.ts";
import { StoreUnavailableError } from "../../../src/log/ports/store-errors.ts";
import { verifyStore } from "../../../src/operations/audit/verify.ts";
import { codecs } from "../../../src/providers/codecs.ts";
import { all, appendPrepared, headAfter, prepared } from "../../../src/testing/contracts/prepared.ts";
import { isLong } from "../../support/cases.ts";
import { gated } from "../../support/gates.ts";
import { createEmptyStores, opened } from "../../support/stores/postgres-opened.ts";
import {
  hasPostgres,
  type PostgresServer,
  startPostgres,
  whyNoPostgres,
} from "../../support/stores/postgres-server.ts";

if (!hasPostgres) test.skip(whyNoPostgres);

/** Long enough for the server's own answer on a busy machine. */
const soon = { deadlineMs: 2_000 };

/** In the long form a server is away for a minute, in the short one until the store has noticed. */
const awayMs = isLong ? 60_000 : 0;

function withServer(): void {
  let server: PostgresServer;
  let emptyStore: ReturnType<typeof createEmptyStores>;
  beforeAll(async () => {
    server = await startPostgres();
    emptyStore = createEmptyStores(server);
  });
  afterAll(() => server.end());

  const quick = { renewMs: 10, deadAfterMs: 200, lookMs: 10 };

  test("a lease outlives a server that is away for longer than a holder may be silent", async () => {
    const url = await emptyStore();
    const warnings: string[] = [];
    const holder = await opened(`${url}&deadlineMs=1000`, { pace: quick, warn: (message) => warnings.push(message) });
    const held = (await holder.liveness.hold()) ?? "";
    await server.kill();
    try {
      await expect.poll(() => warnings, { timeout: 20_000 }).toHaveLength(1);
      expect(warnings[0]).toContain("for 1 s nothing at");
    } finally {
      await server.start();
    }
    const reader = await opened(url, { pace: { ...quick, deadAfterMs: 60_000 } });
    expect(await reader.liveness.whenKnown?.(held)).toBe(true);
    expect(await holder.liveness.hold()).toBe(held);
    await holder.close();
    expect(await reader.liveness.isAlive(held)).toBe(false);
  });

  test("a server that is away ends an append at the deadline, and a repeat afterwards writes it once", async () => {
    const url = await emptyStore();
    const store = await opened(url, soon);
    const { sent } = await appendPrepared(store, {});
    const next = prepared({ stream: sent.stream, expected: headAfter(sent) });
    await server.kill();
    const away = await startAway(server.port);
    try {
      const refused = store.append(next);
      const many = Promise.allSettled(Array.from({ length: 30 }, () => store.append(prepared())));
      await expect(refused).rejects.toThrow(StoreUnavailableError);
      expect(new Set((await many).map(({ status }) => status))).toEqual(new Set(["rejected"]));
      // They share each try, and the pauses between tries double: a deadline of two seconds has time for eight.
      expect(away.tries()).toBeGreaterThan(1);
      expect(away.tries()).toBeLessThanOrEqual(9);
      await expect(refused).rejects.toThrow("check that the server runs there");
      await expect(opened(url, { deadlineMs: 300 })).rejects.toThrow("cannot be reached");
    } finally {
      await away.end();
      await server.start();
    }
    const first = await store.append(next);
    expect(first).toMatchObject({ status: "appended" });
    expect(await store.append(next)).toEqual(first);
    expect((await all(store.readStream(sent.stream))).length).toBe(2);
  });

  test("an append that was called before the store was closed is still written when the server comes back", async () => {
    const url = await emptyStore();
    const store = await opened(url);
    const { sent } = await appendPrepared(store, {});
    await server.kill();
    const written = store.append(prepared({ stream: sent.stream, expected: headAfter(sent) }));
    const closed = store.close();
    await server.start();
    expect(await written).toMatchObject({ status: "appended" });
    await closed;
    await expect(store.head(sent.stream)).rejects.toMatchObject({ code: "store-closed" });
  });

  /** A conversation with a message, and a model whose first request meets the server's crash. */
  async function talk(store: EventStore) {
    const conversation = createStore(store).conversation("cnv_away0001");
    await conversation.append("Are you there?");
    const gone = Promise.withResolvers<Awaited<ReturnType<typeof startAway>>>();
    const provider = gated(["Yes.", "Yes."], async (number) => {
      if (number > 0) return;
      await server.kill();
      gone.resolve(await startAway(server.port));
    });
    const engine = createEngine({ provider });
    return {
      provider,
      gone: gone.promise,
      run: () => conversation.run(engine),
      comeBack: async (): Promise<void> => {
        await (await gone.promise).end();
        await server.start();
      },
    };
  }
  /** The message and its answer are there once, and the log is sound. */
  async function checkTalk(store: EventStore) {
    const turn = await createStore(store).conversation("cnv_away0001").turn();
    expect(turn.blocks.map(({ text }) => text)).toEqual(["Are you there?", "Yes."]);
    const found = await all(verifyStore(store, { codecs }));
    expect(found.filter(({ problem }) => problem !== null)).toEqual([]);
  }

  test("a run waits for a server that comes back within the deadline, and asks the model once", async () => {
    const store = await opened(await emptyStore(), { deadlineMs: 30_000 + 2 * awayMs });
    const { run, provider, gone, comeBack } = await talk(store);
    const running = run();
    const { tries } = await gone;
    await expect.poll(tries, { timeout: 20_000 }).toBeGreaterThan(2);
    await sleep(awayMs);
    await comeBack();
    expect(await running).toMatchObject({ status: "completed", text: "Yes." });
    expect(provider.requests.length).toBe(1);
    await checkTalk(store);
  });

  test("a run whose server is away past the deadline fails, and the next run answers the message", async () => {
    const store = await opened(await emptyStore(), isLong ? {} : soon);
    const { run, provider, comeBack } = await talk(store);
    const began = performance.now();
    await expect(run()).rejects.toThrow(StoreUnavailableError);
    await sleep(Math.max(0, awayMs - (performance.now() - began)));
    await comeBack();
    expect(await run()).toMatchObject({ status: "completed", text: "Yes." });
    // How the first request ended is not known, so it is sent again.
    expect(provider.requests.length).toBe(2);
    await checkTalk(store);
  });
}

/** In the place of a server that is away: each connection ends at once, and is counted. */
async function startAway(port: number) {
  let tries = 0;
  const away = createServer((socket) => {
    tries += 1;
    socket.on("error", () => undefined);
    socket.destroy();
  });
  await new Promise<void>((resolve) => void away.listen(port, "127.0.0.1", resolve));
  return {
    tries: () => tries,
    end: () => new Promise<unknown>((resolve) => void away.close(resolve)),
  };
}

if (hasPostgres) describe("a server of Postgres that is away", withServer);
