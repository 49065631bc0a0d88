import type { JsonObject } from "../../../src/base/json.ts";
import type { Actor } from "../../../src/domain/actor.ts";
import { keyedNames } from "../../../src/domain/block-names.ts";
import { decodeData, lineWriter } from "../../../src/log/codec/data.ts";
import { dataDigestOf } from "../../../src/log/codec/envelope.ts";
import type { Envelope } from "../../../src/log/ports/event-store.ts";

type Written = Pick<Envelope, "encoding" | "type" | "version" | "data"> & { readonly actor?: Actor };

const names = keyedNames("0".repeat(64));
const idOf = (sha256: string) => names.idOfBlob(sha256);

/** An event's data after a change, and its digest, written as the event is. */
export function changedData(
  event: Written,
  change: (data: JsonObject) => JsonObject,
  changeText: (text: string) => string = (text) => text,
): Pick<Envelope, "data" | "dataDigest"> {
  const { encoding, actor, data: before } = event;
  const changed = change(decodeData(event).data);
  const text = encoding === "lines" ? lineWriter(event, { idOf }).write(changed) : JSON.stringify(changed);
  const name = actor !== undefined && "alias" in actor ? before.slice(before.lastIndexOf("\n")) : "";
  const data = changeText(text + name);
  return { data, dataDigest: dataDigestOf({ ...event, data }) };
}
