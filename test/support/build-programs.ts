import { buildPrograms } from "../../tools/build.ts";

/** Before tests that start programs: builds them, where their sources changed. */
export default buildPrograms;
