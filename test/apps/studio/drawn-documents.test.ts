import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { bundledStudio } from "../../../src/apps/studio/bundled-studio.ts";
import type { Studio } from "../../../src/apps/studio/studio.ts";
import { exportBundle } from "../../../src/operations/transfer/carry-bundle.ts";
import { isLong, seeds } from "../../support/cases.ts";
import { documentOf, turnlogHere } from "../../support/cli/command.ts";
import { createRandom } from "../../support/coherence/random.ts";
import { randomConversation } from "../../support/random-conversation.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { documentAt, studioHere } from "../../support/studio/studio-here.ts";

/** How many revisions of each conversation are looked at: in the long form 200 in all. */
const looks = isLong ? 10 : 2;

test.each(seeds(1, 20, 3))(
  "every view of drawn conversation %i equals what its command prints as --json, from a store and from a page in one file",
  async (seed) => {
    const folder = temporaryFolder();
    const { store, conversation } = await randomConversation(seed);
    const lines: string[] = [];
    for await (const line of exportBundle(store)) lines.push(line.trimEnd());
    const [bundle, address] = [folder.file(`${seed}.bundle`), `sqlite:${folder.file(`${seed}.db`)}`];
    writeFileSync(bundle, `${lines.join("\n")}\n`);
    const run = (...words: readonly string[]) => turnlogHere([...words, "--store", address], { cwd: folder.path });
    await run("import", bundle);
    const printed = async (...words: readonly string[]): Promise<unknown> =>
      (documentOf(await run(...words, "--json")) as { readonly data: unknown }).data;

    await using here = await studioHere(address);
    const page = await bundledStudio({ lines, address: "page.html", isRedacted: false });
    const id = conversation.id;
    const told = async (path: string): Promise<unknown> => {
      const documents = [here.studio, page].map((studio) => withoutPositions(studio, `/api/c/${id}${path}`));
      const [ofStore, ofPage] = await Promise.all(documents);
      expect(ofPage, `seed ${seed}, ${path} of the page in one file`).toEqual(ofStore);
      return here.get(`/api/c/${id}${path}`);
    };
    const random = createRandom(seed);
    const events = ((await conversation.head())?.revision ?? 0) + 1;
    for (let look = 0; look < looks; look += 1) {
      const revision = random.below(events);
      const at = `${id}@${revision}`;
      const place = `seed ${seed}, ${at}`;
      for (const command of ["show", "blame", "cat"])
        expect(await told(`/${command}/${revision}`), `${command}, ${place}`).toEqual(await printed(command, at));
      const before = random.below(revision + 1);
      expect(await told(`/diff?base=${before}&to=${revision}`), `diff from ${before}, ${place}`).toEqual(
        await printed("diff", `${id}@${before}..${revision}`),
      );
      for (const view of ["time", "body"]) await told(`/${view}/${revision}`);
      const { request } = (await told(`/stack/${revision}`)) as {
        readonly request: { readonly revision: number } | null;
      };
      if (request === null) continue;
      for (const command of ["why", "request"])
        expect(await told(`/${command}/${revision}`), `${command}, ${place}`).toEqual(
          await printed(command, `${id}@${request.revision}`),
        );
    }
    expect(await here.get("/api/bill?by=layer"), `bill, seed ${seed}`).toEqual(await printed("bill", "--by", "layer"));
  },
);

/** A bundle does not carry positions, which are those of the whole log. */
const withoutPositions = async (studio: Studio, path: string): Promise<unknown> =>
  JSON.parse(JSON.stringify(await documentAt(studio, path)).replace(/"position":"\d+"/g, '"position":""'));
