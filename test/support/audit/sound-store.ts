import * as z from "zod";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import type { DataEncoding } from "../../../src/log/codec/data.ts";
import { lens } from "../../../src/middleware/lens.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { openSqliteStore } from "../../../src/stores/sqlite/store.ts";

/** A text that is stored as a blob of several chunks. */
const longText = "the minutes of a long meeting, ".repeat(3_000);

/**
 * Writes an sqlite store in which everything is right: runs with tools, layers that edit, rebased and full requests, a
 * failed request, and a blob.
 */
export async function createSoundStore(path: string, encoding: DataEncoding = "lines"): Promise<void> {
  await using store = new TurnlogStore(await openSqliteStore(path), { clock, encoding });
  const engine = createEngine({ clock, provider: scripted(answers), tools, middleware: [redact, shorten] });
  const journey = store.conversation("cnv_journey");
  await journey.relabel({ title: "A journey" });
  for (const question of ["Find a train, mail me at ada@example.org", "And a hotel?", "Thanks"]) {
    await journey.append(question);
    await journey.run(engine);
  }
  const meeting = store.conversation("cnv_meeting");
  await meeting.append(longText);
  await meeting.run(engine);
  await store.conversation("cnv_note").append("Just a note \u{fffd}");
}

const clock = (): number => Date.UTC(2026, 2, 1);

const answers: Parameters<typeof scripted>[0] = ({ requestNumber }) => {
  switch (requestNumber) {
    case 0:
      return { reasoning: "look it up", calls: [call("trains"), call("hotels")] };
    case 2:
      return { calls: [call("hotels")] };
    case 4:
      return { error: { code: "previous_response_not_found", message: "Previous response not found." } };
    default:
      return `answer ${requestNumber}`;
  }
};

const call = (name: string) => ({ name, arguments: { city: "Rome" } });

const tools = ["trains", "hotels"].map((name) =>
  tool({
    name,
    description: `Finds ${name}.`,
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => `${name} of ${city}: ${"one, ".repeat(60)}`,
  }),
);

const redact = lens({
  name: "redact",
  version: "1.0.0",
  hide: (block) => (block.text.includes("@") ? block.withText(block.text.replace(/\S+@\S+/g, "[email]")) : block),
});

/** Shortens results once they are answered: what the server holds is then no longer true. */
const shorten = defineMiddleware({ name: "shorten", version: "1.0.0" }, (next) => async (turn) => {
  const answered = turn.blocks.findLastIndex(({ kind }) => kind === "assistant");
  const long = turn.blocks.slice(0, Math.max(0, answered)).filter(({ kind }) => kind === "tool_result");
  return next(
    turn.replaceEach(long, (block) => (block.text.length > 40 ? block.withText(block.text.slice(0, 40)) : block)),
  );
});
