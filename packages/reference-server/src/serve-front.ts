import type { ScriptedAnswer } from "./answers.ts";
import { isCut, refused } from "./delivery.ts";
import { type Exchange, finish, firstFault } from "./exchange.ts";
import { corrupted, type Fault, withUnknownEnd } from "./faults.ts";
import type { Front } from "./front.ts";
import type { Reading, ReferenceServerOptions } from "./options.ts";
import type { Script } from "./script.ts";

interface Serving {
  readonly script: Script;
  readonly readings: Map<number | string, () => Reading>;
  readonly faults: (Fault | undefined)[];
  readonly options: ReferenceServerOptions;
}

/** Answers one request in the dialect of a front, with the faults that all dialects share. */
export async function serveFront(
  parts: Serving,
  exchange: Exchange,
  { front, url }: { readonly front: Front; readonly url: URL },
): Promise<void> {
  const { received } = exchange;
  const { fault, isAnswered } = await firstFault(parts, exchange);
  if (isAnswered) return;
  const { body, headers, index } = received;
  const accepted = front.accept({ body, url, headers, fault, index });
  if ("refusal" in accepted) {
    await finish(exchange, refused(accepted.refusal));
    return;
  }
  parts.readings.set(index, accepted.reading);
  received.cache = accepted.cache.verdict;
  let answered: ScriptedAnswer;
  try {
    answered = await parts.script.answer({ ...accepted, arrival: index, fault });
  } catch (error) {
    await finish(exchange, refused(front.serverError(error instanceof Error ? error.message : String(error))));
    return;
  } finally {
    accepted.release?.();
  }
  accepted.cache.begin();
  const error = fault?.kind === "stream-error" ? fault.error : undefined;
  const { outgoing, responseId, commit, wholeBytes } = accepted.render(
    fault?.kind === "corrupt" ? wrong(answered) : answered,
    error,
  );
  received.responseId = responseId;
  if (responseId !== undefined) parts.readings.set(responseId, accepted.reading);
  const isLost = isCut(fault, wholeBytes ?? Buffer.byteLength(outgoing.text)) && fault.isActed !== true;
  if (!isLost && error === undefined) commit?.();
  const text = fault?.kind === "unknown-end" ? withUnknownEnd(outgoing.text) : outgoing.text;
  await finish(exchange, { ...outgoing, text }, fault);
}

/** The answer with another first letter than the model's. */
function wrong({ output, ...answer }: ScriptedAnswer): ScriptedAnswer {
  const items = corrupted(output.map(({ item }) => item));
  return { ...answer, output: output.map((scripted, index) => ({ ...scripted, item: items[index] ?? scripted.item })) };
}
