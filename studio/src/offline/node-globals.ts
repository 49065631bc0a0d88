/** The few parts of Node's Buffer that reading needs. */
class PageBuffer extends Uint8Array<ArrayBuffer> {
  override toString(encoding = "utf8"): string {
    if (encoding !== "base64url") return new TextDecoder().decode(this);
    const text = btoa(Array.from(this, (byte) => String.fromCharCode(byte)).join(""));
    return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  }
}

function from(text: string, encoding = "utf8"): PageBuffer {
  const bytes =
    encoding === "base64url"
      ? Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0))
      : new TextEncoder().encode(text);
  return new PageBuffer(bytes.buffer);
}

function compare(left: Uint8Array, right: Uint8Array): number {
  for (let at = 0; at < Math.min(left.length, right.length); at += 1) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

const byteLength = (text: string): number => new TextEncoder().encode(text).length;

/** Naming it keeps this module, which has an effect only. */
export const nodeGlobals = Object.assign(globalThis, { Buffer: { from, compare, byteLength } });
