import { writeFile } from "node:fs/promises";
import { newKeys } from "../../../operations/erasure/note.ts";
import { keysDocument } from "../../documents/erasing.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { UsageError } from "../exit-codes.ts";

/** Makes a pair of keys: the secret one to sign receipts, the public one to check them. */
export const newKey = commandCode({
  document: keysDocument,

  async *run(_, { arguments: [file = ""], options: { name = "turnlog" } }: CommandInput<{ readonly name?: string }>) {
    const publicFile = `${file}.pub`;
    const keys = pairOf(name);
    try {
      await writeFile(file, keys.secret, { flag: "wx", mode: 0o600 });
      await writeFile(publicFile, keys.open, { flag: "wx" });
    } catch (cause) {
      if (!(cause instanceof Error && "code" in cause && cause.code === "EEXIST")) throw cause;
      throw new UsageError(
        `${file} or ${publicFile} already exists, and turnlog does not replace a key: name another file`,
      );
    }
    yield { file, publicFile, name };
  },

  render({ file, publicFile }, { print }) {
    print(`Keep ${file} secret: it signs. Publish ${publicFile}: it verifies the signatures`);
  },
});

function pairOf(name: string) {
  try {
    return newKeys(name);
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : "that is not a valid name", { cause });
  }
}
