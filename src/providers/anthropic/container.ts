import { isJsonList, isJsonObject, type JsonObject, type JsonValue, objectsOf } from "../../base/json.ts";
import type { PlannedParts, Settings } from "../../engine/ports/codec.ts";
import { containerIn } from "./content-blocks.ts";

/**
 * The container that a request names so that code there can continue: the newest that an answer named since the user last spoke. A
 * container in the settings takes precedence.
 */
export function containerDetails({ settings, said }: PlannedParts): JsonObject | undefined {
  if (namesContainer(settings)) return undefined;
  const container = said.map(containerIn).findLast((id) => id !== null);
  return container == null ? undefined : { container };
}

/** The container of a request body, with the skills from the settings. */
export function containerFor({ container }: Settings, details: JsonObject | undefined): JsonValue | undefined {
  const id = details?.["container"];
  if (typeof id !== "string") return container;
  return isJsonObject(container) ? { ...container, id } : id;
}

const namesContainer = ({ container }: Settings): boolean =>
  typeof container === "string" || (isJsonObject(container) && typeof container["id"] === "string");

/** Whether tools run on the server, so that it may pause an answer while they work; those tools have a type of their own. */
export const hasServerTools = ({ tools, mcp_servers: servers }: Settings): boolean =>
  objectsOf(tools).some(({ type }) => typeof type === "string" && type !== "custom") ||
  (isJsonList(servers) && servers.length > 0);
