import { utf8Length } from "../../base/utf8.ts";
import { blobsNamed, readBlob } from "../../log/codec/blobs.ts";
import { decodeData } from "../../log/codec/data.ts";
import type { EventStore, StoredEnvelope } from "../../log/ports/event-store.ts";
import { refused } from "./refused.ts";
import { TextIndex } from "./text-index.ts";

/** Below this length a text occurs by chance. */
const bytesMin = 8;
/** A text in more events than this is no person's. */
const maxEvents = 10_000;

/** Finds texts in contents: as they are, and as JSON inside of JSON, as in the arguments of a call. */
export class TextSearch {
  readonly #needles: TextIndex;
  readonly #isUnlimited: boolean;
  readonly #events = new Set<string>();

  /** @throws {TurnlogError} `erasure-refused` for a text that is too short, unless all are wanted. */
  constructor(texts: readonly string[], isUnlimited: boolean, needles = texts.flatMap(formsOf)) {
    // The text itself is not repeated, because errors are logged.
    if (!isUnlimited && texts.some((text) => utf8Length(text) < bytesMin))
      throw refused(
        `a text of less than ${bytesMin} bytes may occur by chance: name its block, or say that all are meant (--all)`,
      );
    this.#needles = new TextIndex(needles);
    this.#isUnlimited = isUnlimited;
  }

  /** Of texts that are JSON already, without the quotes. */
  static ofJson(texts: readonly string[]): TextSearch {
    return new TextSearch(
      texts,
      true,
      texts.flatMap((text) => [text, jsonOf(text)]),
    );
  }

  matches(content: string): boolean {
    if (this.#needles.isIn(content)) return true;
    // Arguments of calls are kept as the model wrote them.
    const isEscaped = content.includes("\\u") || content.includes("\\/");
    return isEscaped && this.#needles.isIn(content.replace(escapes, fromEscape).replace(escapedSlashes, "/"));
  }

  /** Whether a text occurs in the content of a line, or in a long text that the line refers to. */
  async isIn(store: EventStore, envelope: StoredEnvelope, content: string): Promise<boolean> {
    const found = this.matches(content) || (await this.#isInBlobs(store, envelope, content));
    if (found) this.#events.add(`${envelope.stream}@${envelope.revision}`);
    return found;
  }

  /** The same for an event that is written as `json`. */
  async isInJson(store: EventStore, envelope: StoredEnvelope): Promise<boolean> {
    if (this.matches(envelope.data)) return true;
    return (
      envelope.data.includes('"$blob"') && this.#isInBlobs(store, envelope, JSON.stringify(decodeData(envelope).data))
    );
  }

  async #isInBlobs(store: EventStore, { stream }: StoredEnvelope, content: string): Promise<boolean> {
    for (const reference of blobsNamed(content)) {
      const text = await readBlob(store, stream, reference);
      if (this.matches(text) || this.matches(jsonOf(text))) return true;
    }
    return false;
  }

  /** @throws {TurnlogError} `erasure-refused`. */
  refuseIfTooFrequent(): void {
    if (this.#isUnlimited || this.#events.size <= maxEvents) return;
    throw refused(`the texts occur in ${this.#events.size} events: name the blocks, or say that all are meant (--all)`);
  }
}

const jsonOf = (text: string): string => JSON.stringify(text).slice(1, -1);

/**
 * A text in a line is JSON; inside the arguments of a call, which are JSON in a text, it is JSON twice, and if these contain JSON as a text, three
 * times.
 */
const formsOf = (text: string): readonly string[] => {
  const forms = [text];
  for (let times = 0; times < 3; times += 1) forms.push(jsonOf(forms.at(-1) ?? ""));
  return [...new Set(forms)];
};

/** A letter that JSON need not escape, at any depth of JSON in JSON. Each run of backslashes is looked at once, however long it is. */
const escapes = /(?<!\\)\\+u([0-9a-f]{4})/gi;
const escapedSlashes = /(?<!\\)\\+\//g;
function fromEscape(written: string, digits: string): string {
  const code = Number.parseInt(digits, 16);
  // Those that JSON has to escape are so in the forms of a text as well.
  return code < 0x20 || code === 0x22 || code === 0x5c ? written : String.fromCharCode(code);
}
