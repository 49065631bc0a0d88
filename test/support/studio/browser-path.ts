import { existsSync } from "node:fs";

const places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** The browser of the system, or the one that TURNLOG_BROWSER names; null if there is none. */
export const browserPath: string | null =
  process.env["TURNLOG_BROWSER"] ?? places.find((place) => existsSync(place)) ?? null;
