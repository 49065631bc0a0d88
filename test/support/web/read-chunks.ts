import { readUIMessageStream, type UIMessageChunk, uiMessageChunkSchema } from "ai";
import type { UiChunk } from "../../../src/apps/web/ui-chunk.ts";
import type { JsonObject, JsonValue } from "../../../src/base/json.ts";

/** A message as the reader of the AI SDK has it after these chunks, each of which its own schema has to accept. */
export async function readChunks(chunks: readonly UiChunk[], before?: JsonObject): Promise<JsonObject | null> {
  const known: readonly UIMessageChunk[] = await Promise.all(chunks.map(checkedChunk));
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of known) controller.enqueue(chunk);
      controller.close();
    },
  });
  let message: unknown = before ?? null;
  const failures: unknown[] = [];
  const onError = (error: unknown): void => void failures.push(error);
  const given = before === undefined ? {} : { message: structuredClone(before) as never };
  for await (const each of readUIMessageStream({ stream, onError, ...given })) message = each;
  const [failure] = failures.filter((error) => !(error instanceof Error && reported(chunks, error.message)));
  if (failure !== undefined) throw new Error("the chunks cannot be read", { cause: failure });
  return withoutEmptyStep(plain(message));
}

/** @throws if the AI SDK would not accept the chunk. */
async function checkedChunk(chunk: UiChunk): Promise<UIMessageChunk> {
  const checked = await uiMessageChunkSchema().validate?.(chunk);
  if (checked?.success !== true) throw new Error(`not a chunk: ${JSON.stringify(chunk)}`);
  return checked.value;
}

const reported = (chunks: readonly UiChunk[], text: string): boolean =>
  chunks.some((chunk) => chunk.type === "error" && chunk.errorText === text);

/** As it goes over the wire: without members that are undefined. */
export const plain = (value: unknown): JsonObject | null =>
  JSON.parse(JSON.stringify(value ?? null)) as JsonObject | null;

/** The mark of a step that was taken back stays, and shows nothing. */
function withoutEmptyStep(message: JsonObject | null): JsonObject | null {
  const parts = (message?.["parts"] ?? []) as readonly JsonValue[];
  const last = parts.at(-1) as JsonObject | undefined;
  return message !== null && last?.["type"] === "step-start" ? { ...message, parts: parts.slice(0, -1) } : message;
}
