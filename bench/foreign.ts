import * as z from "zod";
import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { createEngine } from "../src/engine/options/create-engine.ts";
import { tool } from "../src/engine/ports/tool.ts";
import { scripted } from "../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../src/stores/memory/store.ts";
import { mean, ratioOf, takeTurns } from "./rounds.ts";
import { type BenchRow, report } from "./row.ts";
import { imported, textOf } from "./sample.ts";

const events = 20_000;
const appends = 100;
const rounds = 1;

/**
 * The cost of another process's appends while this one runs a conversation of 20,000 events: the run's process appends in between,
 * and so has to apply the other's events first. Compared with the same appends by the run's own process while the other writes
 * nothing. A fold that started again because of them would read all events each time. After every tenth append, as in a run of many
 * steps; and, without a bound, after each, so that every append of either process first meets one of the other.
 */
export async function benchForeign(): Promise<readonly BenchRow[]> {
  const memory = createMemoryStore();
  const here = new TurnlogStore(memory).conversation();
  await imported(here, events, 200);
  const other = new TurnlogStore(memory).conversation(here.id);
  let said = 0;
  const appendsBy = (who: typeof here, every: number) => async (): Promise<void> => {
    for (let n = 1; n <= appends; n += 1) {
      said += 1;
      await who.append(textOf(200, said));
      if (n % every === 0) await here.relabel({ labels: { said: String(said) } });
    }
  };
  const rows: BenchRow[] = [];
  const wait = tool({
    name: "wait",
    description: "Waits.",
    inputSchema: z.strictObject({}),
    async execute() {
      for (const every of [10, 1]) {
        const works = { foreign: appendsBy(other, every), own: appendsBy(here, every) };
        const { foreign, own } = await takeTurns(rounds, works, 4);
        const when = every === 1 ? "after each" : `after every ${every}th`;
        const name = `${appends} appends of another process during a run, of ${events} events, against its own, one of the run ${when}`;
        const note = `${mean(foreign).toFixed(1)} ms against ${mean(own).toFixed(1)} ms`;
        const bound = every === 1 ? {} : ({ bound: 2, kind: "at most" } as const);
        rows.push({ name, ...ratioOf(foreign, own), unit: "x", note, ...bound });
      }
      return "done";
    },
  });
  const provider = scripted([{ calls: [{ name: "wait", arguments: "{}" }] }, "Done."], { transport: "json" });
  await here.run(createEngine({ provider, tools: [wait] }));
  return rows;
}

if (import.meta.main) process.exitCode = report(await benchForeign()) ? 0 : 1;
