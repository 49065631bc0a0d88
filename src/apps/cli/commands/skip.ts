import { counted } from "../../../base/counted.ts";
import { maxFollowing } from "../../../log/writer/skip-event.ts";
import { skipDocument } from "../../documents/stores.ts";
import { placeName } from "../block-rows.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { exitCodes, UsageError } from "../exit-codes.ts";
import { findPlace } from "../find.ts";
import { parsePlace } from "../revision.ts";

type Options = { readonly reason: string; readonly allThatFollow?: boolean };

/** How many forks are named. */
const mostNamed = 5;

/** Lets a conversation continue without a damaged event, and says whether other damage remains. */
export const skip = commandCode({
  document: skipDocument,

  async *run(context, { arguments: [place = ""], options }: CommandInput<Options>) {
    const { reason, allThatFollow = false } = options;
    if (parsePlace(place).at.type !== "one")
      throw new UsageError(`expected one event such as cnv_8f3k@120, as \`turnlog verify\` prints it, got '${place}'`);
    await using store = await context.openStore("write");
    const { conversation, revision } = await findPlace(store, place);
    const { skipped, damage, forks } = await conversation.skipEvent(revision, reason, { allThatFollow });
    yield {
      ...{ conversation: conversation.id, revision, skipped, forks: [...forks] },
      damage: damage.map(({ stream, revision: stopsAt, message }) => ({ stream, revision: stopsAt, message })),
    };
    return damage.length === 0 ? exitCodes.ok : exitCodes.integrity;
  },

  render({ conversation, revision, skipped, damage, forks }, { print, note, commandName }) {
    const following = skipped.filter((each) => each !== revision).length;
    const too = following === 0 ? "" : `, and ${counted(following, "event")} that followed from it`;
    print(`${placeName(conversation, revision)} is skipped${too}`);
    const more = forks.length > mostNamed ? ` and ${forks.length - mostNamed} more` : "";
    if (forks.length > 0) print(`left out of its forks, too: ${forks.slice(0, mostNamed).join(", ")}${more}`);
    const [first] = damage;
    if (first === undefined) {
      print("the conversation can continue");
      return;
    }
    const count =
      damage.length > maxFollowing ? `more than ${counted(maxFollowing, "event")}` : counted(damage.length, "event");
    print(`the next damage is ${first.message}: ${count} to skip`);
    if (revision > 0)
      note(`\`${commandName} fork ${placeName(conversation, revision - 1)}\` continues from before it instead`);
    if (damage.length <= maxFollowing && damage.every(({ stream }) => stream === first.stream))
      note(`\`${commandName} skip ${placeName(conversation, revision)} --all-that-follow --reason …\` skips them too`);
  },
});
