/**
 * An auditor: walks a conversation, and prints the changes of each layer and each body that was sent to the model.
 *
 * Run it from a checkout, after `npm run build`, and `npm start`, which leaves a store: `node examples/audit.ts sqlite:./turnlog.db`. It audits the
 * conversation that was written last, or the one whose id you add.
 */
import { describeActor, openStore } from "turnlog";
import type { ChangedBlock, WalkedEvent } from "turnlog/audit";

/** The findings about one event: who changed which block, and the body that went to the server. */
export function* findings({ revision, changes, request, problem }: WalkedEvent): Iterable<string> {
  if (problem !== null) yield `@${revision} ${problem}`;
  const told = (what: string, { block, by }: Pick<ChangedBlock, "block" | "by">, text = block.text): string =>
    `@${revision} ${by === null ? "unknown" : describeActor(by)} ${what} ${block.kind}: ${text}`;
  for (const each of changes?.added ?? []) yield told("added", each);
  for (const each of changes?.removed ?? []) yield told("removed", each);
  for (const each of changes?.moved ?? []) yield told("moved", each);
  for (const { before, after, by } of changes?.modified ?? [])
    yield told("changed", { ...after, by }, `${before.block.text} -> ${after.block.text}`);
  if (request !== null) yield `@${revision} sent ${request.bytes} bytes, sha256 ${request.sha256}: ${request.bodyText}`;
}

if (import.meta.main) {
  const [address = "sqlite:./turnlog.db", id] = process.argv.slice(2);
  await using store = await openStore(address, { mustExist: true, mayBeReadOnly: true });
  const [newest] = (await store.list({ limit: 1 })).conversations;
  const conversation = store.conversation(id ?? newest?.id);
  for await (const event of conversation.walk()) for (const finding of findings(event)) console.log(finding);
  const { isSound, events, requests } = await conversation.verify();
  console.log(`${events} events and ${requests} requests verified: ${isSound ? "all sound" : "damaged"}`);
  process.exitCode = isSound ? 0 : 1;
}
