/**
 * The lines of a text that arrives in pieces, without their line feeds; text after the last line feed is a line as well. Lines end
 * at line feeds only: `node:readline` would also end them at U+2028, which JSON texts may contain.
 */
export async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<string, void> {
  let begun: string[] = [];
  for await (const piece of pieces) {
    const [first = "", ...others] = piece.split("\n");
    begun.push(first);
    for (const other of others) {
      yield begun.join("");
      begun = [other];
    }
  }
  yield begun.join("");
}
