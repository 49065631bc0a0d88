import type { UiChunk } from "./ui-chunk.ts";

/** How long a stream is silent before it says that it is alive, so that no proxy closes it. */
const keepAliveMs = 15_000;

const headers = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
  connection: "keep-alive",
  "x-vercel-ai-ui-message-stream": "v1",
  "x-accel-buffering": "no",
};

/**
 * Chunks as the AI SDK reads them over HTTP. Nothing is made before the reader asks for it.
 *
 * @param onEnd - Called once, when the stream has ended or its reader has left.
 */
export function eventStream(chunks: AsyncIterator<readonly UiChunk[]>, onEnd: () => void): Response {
  const encoder = new TextEncoder();
  let next: Promise<IteratorResult<readonly UiChunk[]>> | null = null;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        next ??= chunks.next();
        const given = await orSilence(next).catch((error: unknown) => {
          onEnd();
          throw error;
        });
        if (given === null) {
          controller.enqueue(encoder.encode(": keep-alive\n\n"));
          return;
        }
        next = null;
        if (given.done !== true) {
          controller.enqueue(encoder.encode(given.value.map(line).join("")));
          return;
        }
        controller.enqueue(encoder.encode("data: [DONE]\n\n"));
        controller.close();
        onEnd();
      },
      cancel: onEnd,
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers });
}

const line = (chunk: UiChunk): string => `data: ${JSON.stringify(chunk)}\n\n`;

async function orSilence<T>(work: Promise<T>): Promise<T | null> {
  const silence = Promise.withResolvers<null>();
  const timer = setTimeout(() => silence.resolve(null), keepAliveMs);
  try {
    return await Promise.race([work, silence.promise]);
  } finally {
    clearTimeout(timer);
  }
}
