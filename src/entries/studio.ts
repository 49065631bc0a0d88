/** The studio: a page over a store that shows what was said, what was sent, and who changed it (docs/STUDIO.md). */
export { createStudio } from "../studio/create-studio.ts";
export type { Studio, StudioOptions, StudioStore } from "../studio/studio.ts";
