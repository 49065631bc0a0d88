import { message, startReferenceServer } from "../packages/reference-server/src/server.ts";
import { openaiResponses } from "../src/providers/responses/openai-responses.ts";
import { type BenchRow, report, summary } from "./row.ts";

const [few, many] = [200, 2_000] as const;
const rounds = 5;

/**
 * The cost per conversation of 2,000 that ask over WebSockets at the same time, compared with 200: processor time of client and
 * reference server together, medians of alternating rounds.
 */
export async function benchManySockets(): Promise<readonly BenchRow[]> {
  const ratios: number[] = [];
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const least = await cpuMsEach(few);
    const most = await cpuMsEach(many);
    ratios.push(most / least);
    times.push(most);
  }
  const { value, noise } = summary(ratios);
  const note = `${summary(times).value.toFixed(2)} ms each, two requests`;
  return [
    {
      name: `${many} conversations at once over WebSockets, each against one of ${few}`,
      ...{ value, noise, unit: "x", bound: 2, kind: "at most", note },
    },
  ];
}

/** All conversations ask at once, and once more after all answers. */
async function cpuMsEach(conversations: number): Promise<number> {
  await using server = await startReferenceServer({ answer: () => ({ output: [message("done")] }) });
  const provider = openaiResponses({ model: "m", apiKey: "key", baseURL: server.baseUrl, transport: "websocket" });
  const settings = { model: "m", store: false };
  const names = Array.from({ length: conversations }, (_, n) => `conversation-cnv_${n}`);
  const from = process.cpuUsage();
  for (const content of ["one", "two"]) {
    const statuses = await Promise.all(
      names.map(async (conversation) => {
        const { lives = null, details = {} } = provider.connection?.(conversation, { lanes: true }) ?? {};
        const body = { type: "response.create", ...details, ...settings, input: [{ role: "user", content }] };
        const { response } = await provider.infer({
          ...{ bodyText: JSON.stringify(body), settings, transport: "websocket", onDelta: () => undefined },
          connection: { conversation, lives, details },
          signal: AbortSignal.timeout(60_000),
        });
        return response["status"];
      }),
    );
    if (statuses.some((status) => status !== "completed")) throw new Error("an answer is missing");
  }
  const { user, system } = process.cpuUsage(from);
  await provider[Symbol.asyncDispose]?.();
  return (user + system) / 1_000 / conversations;
}

if (import.meta.main) process.exitCode = report(await benchManySockets()) ? 0 : 1;
