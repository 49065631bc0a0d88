import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { createEngine, type EngineConfig } from "../src/engine/options/create-engine.ts";
import { scripted } from "../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../src/stores/memory/store.ts";
import type { BenchRow } from "./row.ts";

const exchanges = 40;
/** The lower end of the reported size of blobs (10 to 100 KB). */
const blobBytes = 10_000;

/**
 * The cost of carrying encrypted reasoning: the bytes that 40 exchanges send, with a blob of 10 KB in each answer and without, in
 * full requests and if the server holds it.
 */
export async function benchReasoning(): Promise<readonly BenchRow[]> {
  const whole = { with: await bytesSent("stateless", true), without: await bytesSent("stateless", false) };
  const chained = { with: await bytesSent("chained", true), without: await bytesSent("chained", false) };
  // The n-th request carries the blobs of the answers before it.
  const blobs = ((exchanges * (exchanges - 1)) / 2) * blobBytes;
  const of = (sent: typeof whole): string => `${kilobytes(sent.with)} KB with, ${kilobytes(sent.without)} KB without`;
  return [
    {
      name: "reasoning carried in whole requests, against its blobs alone",
      ...{ value: (whole.with - whole.without) / blobs, unit: "x", bound: 1.05, kind: "at most" },
      note: `${of(whole)}, ${exchanges} exchanges with ${blobBytes / 1_000} KB each`,
    },
    {
      name: "bytes of chained requests with reasoning, against without",
      ...{ value: chained.with / chained.without, unit: "x", bound: 1.3, kind: "at most" },
      note: of(chained),
    },
  ];
}

const kilobytes = (bytes: number): string => (bytes / 1_000).toFixed(1);

async function bytesSent(mode: NonNullable<EngineConfig["mode"]>, hasBlobs: boolean): Promise<number> {
  await using store = new TurnlogStore(createMemoryStore());
  const conversation = store.conversation();
  const provider = scripted(
    ({ requestNumber: n }) => ({
      items: [
        {
          ...{ type: "reasoning", id: `rs_${n}`, summary: [] },
          ...(hasBlobs ? { encrypted_content: String(n).padStart(blobBytes, "g") } : {}),
        },
      ],
      text: `Answer ${n}.`,
    }),
    { capabilities: { encryptedReasoning: hasBlobs, itemIds: false } },
  );
  const engine = createEngine({ provider, mode });
  let bytes = 0;
  for (let n = 0; n < exchanges; n += 1) {
    await conversation.append(`Question ${n}.`);
    const { steps } = await conversation.run(engine);
    for (const { requestBytes } of steps) bytes += requestBytes;
  }
  return bytes;
}
