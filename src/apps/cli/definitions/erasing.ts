import type { CommandGroup } from "../command.ts";
import { erasureCode, oneMore, option } from "../option-values.ts";

export const eraseWhatWasSaid: CommandGroup = {
  heading: "Erase what was said:",
  commands: [
    {
      name: "erase",
      arguments: "[conversation...]",
      summary:
        "show what erasing conversations, events (CONVERSATION@REVISION), blocks or texts would do, or with --apply do it; without any, list erasures",
      example: "erase @last --apply --by dpo --ground gdpr-17 -o receipt.json",
      options: [
        option("--block <id>", "a block of the conversation, in every version; may be repeated").argParser(oneMore),
        option(
          "--text <file>",
          "everything that contains the text of this file, in the conversations and their forks and children, or in all; may be repeated",
        ).argParser(oneMore),
        option(
          "--subject <id>",
          "conversations with the label subject=ID, and what an actor of this name wrote elsewhere",
        ),
        option("--all", "with --text: also a text that is very short, or in very many events"),
        option(
          "--stack <stack>",
          "a name in the configuration, or a module that exports an `engine`: its providers delete what they stored",
        ),
        option("--keep-stored", "with --stack: leave what providers stored, on purpose"),
        option("--vacuum", "rewrite the whole file afterwards"),
        option("--apply", "erase instead of only showing what would be erased"),
        option("--by <alias>", "with --apply: who erases, as a code; it stays in the log").argParser(erasureCode),
        option("--ground <code>", "with --apply: why, as a code; it stays in the log").argParser(erasureCode),
        option("--ticket <code>", "with --apply: where the erasure was requested, as a code").argParser(erasureCode),
        option(
          "--with-skeleton",
          "of a whole conversation, erase the type and time of each event too: only its digest stays",
        ),
        option("-o, --output <file>", "write the receipt to a file"),
        option("--sign <key>", "sign the receipt with a key that `turnlog keys new` made"),
        option("--resume <id>", "continue an erasure that was interrupted or left something over"),
      ],
      load: async () => (await import("../commands/erase.ts")).erase,
    },
    {
      name: "keys",
      summary: "create keys that sign receipts",
      subcommands: [
        {
          name: "new",
          arguments: "<file>",
          summary: "create a signing key, and beside it FILE.pub, which verifies",
          example: "keys new erasure.key",
          readsOnly: true,
          options: [option("--name <name>", "the name of the key in signatures; by default turnlog")],
          load: async () => (await import("../commands/keys.ts")).newKey,
        },
      ],
    },
  ],
};
