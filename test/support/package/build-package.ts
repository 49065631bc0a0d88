import { build } from "../../../tools/build.ts";

/** Before tests of the package: builds it, where its sources changed. `npm run check` checks the types of what is built. */
export default (): Promise<void> => build({ ifStale: true, declarations: "unchecked" });
