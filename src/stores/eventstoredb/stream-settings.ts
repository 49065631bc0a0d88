import { isJsonObject } from "../../base/json.ts";
import { textOf } from "./envelope.ts";
import { Failure } from "./failure.ts";
import { readServerStream, type Session, truncated } from "./session.ts";

/**
 * Refuses a stream of which the server drops events, or has dropped them: its revision 0 is, or will be, missing.
 *
 * @throws {StoreCorruptedError} that names the settings.
 */
export async function checkSettings(session: Session, stream: string, signal: AbortSignal): Promise<void> {
  const name = session.names.toServer(stream);
  const range = { name: `$$${name}`, from: "end", direction: "backwards", count: 1 } as const;
  try {
    for await (const events of readServerStream(session, range, signal)) {
      for (const event of events) if (dropsEvents(textOf(event.getData_asU8()))) throw truncated(name, 0);
    }
  } catch (error) {
    // Who may write to a stream need not be allowed to see its settings.
    if (!(error instanceof Failure) || error.kind !== "denied") throw error;
  }
}

function dropsEvents(metadata: string): boolean {
  try {
    const settings: unknown = JSON.parse(metadata);
    return isJsonObject(settings) && ["$maxCount", "$maxAge", "$tb"].some((name) => settings[name] !== undefined);
  } catch {
    return false;
  }
}
