import { kindOf } from "../../base/options.ts";
import { pageFiles } from "./page-files.ts";
import { pageFolder } from "./page-folder.ts";
import { type Studio, type StudioOptions, studioOver } from "./studio.ts";

/**
 * The studio's page and its data over a store, as a handler to mount in a server of your own. Without `access`, every request is refused.
 *
 *     const studio = createStudio({ store, access: (request) => isAdmin(request) });
 *     app.all("/*", (context) => studio.fetch(context.req.raw));
 *
 * @throws {TypeError} if `access` is not a function.
 */
export function createStudio(options: StudioOptions): Studio {
  // Callers may have no types.
  const access: unknown = options.access;
  if (access !== undefined && typeof access !== "function")
    throw new TypeError(`createStudio: access is ${kindOf(access)}: give a function that returns true to allow`);
  const folder = pageFolder();
  return studioOver(options, folder === null ? {} : { file: pageFiles(folder) });
}
