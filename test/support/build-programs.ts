import { build, buildPrograms } from "../../tools/build.ts";

/** Before tests that start programs: builds them, and the package for the examples, where their sources changed. */
export default async function buildWhatIsStarted(): Promise<void> {
  await buildPrograms();
  await build({ ifStale: true, declarations: "none" });
}
