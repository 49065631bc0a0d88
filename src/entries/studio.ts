/** The studio: a page over a store that shows what was said, what was sent, and who changed it (docs/STUDIO.md). */
export { createStudio } from "../apps/studio/create-studio.ts";
export type { Studio, StudioOptions, StudioStore } from "../apps/studio/studio.ts";
