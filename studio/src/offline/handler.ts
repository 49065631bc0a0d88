/** What the page takes from the studio's handler when it runs in the page. */
export { bundledStudio } from "../../../src/apps/studio/bundled-studio.ts";
export { addCodecs } from "./codecs.ts";
export { nodeGlobals } from "./node-globals.ts";
