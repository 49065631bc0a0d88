import { counted } from "../../base/counted.ts";
import type { CliContext } from "./context.ts";
import { UsageError } from "./exit-codes.ts";

/** The name to type for a new conversation. */
export const begunConversation = "@new";

/** More than any message of a person; anything longer is a mistake, such as the wrong file. */
const maxBytes = 32 * 1024 * 1024;

/**
 * The text of a message: as typed, or of stdin for `-`.
 *
 * @throws {UsageError} if there is none, or it is empty, too long, or not UTF-8.
 */
export async function typedText({ stdin }: CliContext, typed: string | undefined): Promise<string> {
  if (typed === undefined)
    throw new UsageError("give the text to append in quotes, or - to read it from the standard input");
  const text = typed === "-" ? await readText(stdin) : typed;
  if (text.trim() === "") throw new UsageError("there is nothing to append: the text is empty");
  return text;
}

/** The text of stdin, without its final line feed. */
async function readText(stdin: CliContext["stdin"]): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of stdin) {
    bytes += piece.length;
    if (bytes > maxBytes)
      throw new UsageError(
        `the standard input is longer than ${counted(maxBytes, "byte")}: append it in several parts`,
      );
    pieces.push(piece);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(pieces)).replace(/\r?\n$/, "");
  } catch (error) {
    throw new UsageError("the standard input is not UTF-8 text: convert it first", { cause: error });
  }
}
