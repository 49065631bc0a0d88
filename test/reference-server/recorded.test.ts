import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  type JsonObject,
  type ReferenceServer,
  startReferenceServer,
} from "../../packages/reference-server/src/server.ts";
import { isObject, objectsOf, parseJson, stringOf } from "../../packages/reference-server/src/wire.ts";
import { create, framesIn, idOf, refusedWith } from "../support/reference-server/wire-client.ts";

const file = join(import.meta.dirname, "../../../shared/recorded/responses.jsonl");
const isAbsent = !existsSync(file);

interface Replayed {
  accepted: number;
  /** Requests whose parent was made before the recording began; a stand-in took its place. */
  seeded: number;
  readonly refused: string[];
  /** Requests that were refused, as they must be, once the reasoning was taken out of their input. */
  bared: number;
}

test.skipIf(isAbsent)(
  "takes every input that OpenAI took in the recorded exchanges (skipped where ../shared/recorded is absent)",
  { timeout: 60_000 },
  async () => {
    const replayed: Replayed = { accepted: 0, seeded: 0, refused: [], bared: 0 };
    const cases = readFileSync(file, "utf8").trim().split("\n").map(parseJson).filter(isObject);
    for (const recorded of cases) await replay(recorded, replayed);
    const { accepted, seeded, refused, bared } = replayed;
    console.log(
      `recorded requests: ${accepted} accepted, ${seeded} of them behind a stand-in, ${refused.length} refused, 0 excluded`,
    );
    expect(refused).toEqual([]);
    expect([accepted, seeded]).toEqual([164, 1]);
    // Else the rules about reasoning would not have been tried at all.
    expect(bared).toBeGreaterThan(10);
  },
);

/** Sends the requests of one case to a server that knows all responses of the case that came before. */
async function replay(recorded: JsonObject, replayed: Replayed): Promise<void> {
  await using server = await startReferenceServer({ verifiesCiphertexts: false });
  for (const exchange of objectsOf(recorded["exchanges"])) {
    const { provider, path, method, status, request } = exchange;
    if (provider !== "openai" || method !== "POST" || status !== 200) continue;
    if (path === "/v1/conversations" && isObject(exchange["response"]))
      server.adoptConversation(idOf(exchange["response"]));
    if (path !== "/v1/responses" || !isObject(request)) continue;
    replayed.seeded += seed(server, request);
    const { status: answered, body } = await create(server, request);
    if (answered === 200) replayed.accepted += 1;
    else replayed.refused.push(`${stringOf(recorded["name"]) ?? ""}: ${JSON.stringify(body)}`);
    const { input } = request;
    const bare = objectsOf(input).filter(({ type }) => type !== "reasoning");
    const message =
      bare.length === objectsOf(input).length ? "" : await refusedWith(server, { ...request, input: bare });
    if (message.includes("without its required 'reasoning' item")) replayed.bared += 1;
    server.adopt(terminal(exchange), typeof input === "string" ? [{ role: "user", content: input }] : objectsOf(input));
  }
}

/** Parents and conversations from before the recording are taken to be empty. */
function seed(server: ReferenceServer, request: JsonObject): number {
  const id = stringOf(request["previous_response_id"]);
  if (id === undefined || server.responseIds().includes(id)) return 0;
  server.adopt({ id, output: [] }, []);
  return 1;
}

function terminal({ response }: JsonObject): JsonObject {
  if (typeof response !== "string") return isObject(response) ? response : {};
  const whole = framesIn(response.replaceAll("data: [DONE]\n\n", "")).findLast((frame) =>
    isObject(frame["response"]),
  )?.["response"];
  return isObject(whole) ? whole : {};
}
