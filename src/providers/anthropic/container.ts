import { isJsonList, isJsonObject, type JsonObject, type JsonValue, objectsOf } from "../../base/json.ts";
import type { PlannedParts, Settings } from "../../engine/stack/codec.ts";
import { containerIn } from "./content-blocks.ts";

/**
 * The container that a request names because code which runs there is gone on with: the newest that answers named since the user has
 * spoken. What the settings say goes before it.
 */
export function containerDetails({ settings, said }: PlannedParts): JsonObject | undefined {
  if (namesContainer(settings)) return undefined;
  const container = said.map(containerIn).findLast((id) => id !== null);
  return container == null ? undefined : { container };
}

/** What a body says of its container: with the skills that settings want in it. */
export function containerFor({ container }: Settings, details: JsonObject | undefined): JsonValue | undefined {
  const id = details?.["container"];
  if (typeof id !== "string") return container;
  return isJsonObject(container) ? { ...container, id } : id;
}

const namesContainer = ({ container }: Settings): boolean =>
  typeof container === "string" || (isJsonObject(container) && typeof container["id"] === "string");

/** Whether tools run at the server, in the middle of whose work an answer may be paused: those have a type of their own. */
export const hasServerTools = ({ tools, mcp_servers: servers }: Settings): boolean =>
  objectsOf(tools).some(({ type }) => typeof type === "string" && type !== "custom") ||
  (isJsonList(servers) && servers.length > 0);
