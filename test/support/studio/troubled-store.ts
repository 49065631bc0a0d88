import { DatabaseSync } from "node:sqlite";
import { openStore } from "../../../src/conversation/open-store.ts";

/** What a text could do to a page that took it for HTML, to a terminal, or to a reader. */
export const hostile = [
  '<img src="http://evil.example/x.png" onerror="document.title=1"><script>document.title=2</script>',
  "](javascript:alert(1)) ![x](http://evil.example/y.png) \u001b[31mred\u001b[0m",
  "\u202eright to left\u202c \u200b\u2066isolated\u2069",
] as const;

/** A conversation whose title, labels and texts are hostile. */
export async function recordHostile(address: string): Promise<string> {
  await using store = await openStore(address);
  const conversation = store.conversation("cnv_hostile_texts_0001");
  await conversation.append(hostile[0]);
  await conversation.append([...hostile]);
  await conversation.relabel({ title: hostile[0], labels: { [hostile[0].slice(0, 40)]: hostile[1] } });
  return conversation.id;
}

/** Damages an event in the file of a store. */
export function damageEvent(file: string, stream: string, revision: number): void {
  const database = new DatabaseSync(file);
  try {
    const { changes } = database
      .prepare(
        "UPDATE events SET data = replace(data, 'hotel', 'hovel') WHERE stream = (SELECT number FROM streams WHERE name = ?) AND revision = ?",
      )
      .run(stream, revision);
    if (changes !== 1) throw new Error(`no event ${revision} of ${stream} was changed`);
  } finally {
    database.close();
  }
}
