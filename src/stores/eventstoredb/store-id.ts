import { objectOf } from "../../base/json.ts";
import { StoreCorruptedError, StoreTooNewError } from "../../log/ports/store-errors.ts";
import { formatVersion } from "./envelope.ts";
import { type EsdbEvent, textOfBytes } from "./messages.ts";

/** The id of a store, from its first event. */
export function storeIdOf(event: EsdbEvent, shown: string): string {
  const [data, metadata] = [parse(event.data), parse(event.metadata)];
  const version = objectOf(metadata)["turnlog"];
  if (typeof version === "number" && version > formatVersion) {
    throw new StoreTooNewError(`a newer turnlog wrote ${shown} (format ${version}): update turnlog`);
  }
  const storeId = objectOf(data)["storeId"];
  // It becomes part of a file name.
  if (version !== undefined && typeof storeId === "string" && /^[0-9a-f-]{36}$/.test(storeId)) return storeId;
  throw new StoreCorruptedError(
    `${shown} has a stream turnlog-store that turnlog did not write: give turnlog its own names (turnlogNamespace=… in the address)`,
  );
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(textOfBytes(bytes));
  } catch {
    return null;
  }
}
