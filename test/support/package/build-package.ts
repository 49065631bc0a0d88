import { build } from "../../../tools/build.ts";
import { buildPage } from "../../../tools/build-page.ts";

/** Before tests of the package: builds it, where its sources changed. `npm run check` checks the types of what is built. */
export default async (): Promise<void> => {
  await build({ ifStale: true, declarations: "unchecked" });
  await buildPage({ ifMissing: true });
};
