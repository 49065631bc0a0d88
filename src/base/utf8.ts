// Node counts without encoding the text.
const platform: { readonly Buffer?: { readonly byteLength: (text: string) => number } } = globalThis;
const encoder = new TextEncoder();

/** The length of a text in UTF-8 bytes; a lone surrogate counts as the three bytes of its replacement. */
export function utf8Length(text: string): number {
  return platform.Buffer?.byteLength(text) ?? encoder.encode(text).length;
}

/** Compares two well-formed texts in the order of their UTF-8 bytes, without encoding them. */
export function compareUtf8(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const [one, other] = [left.charCodeAt(index), right.charCodeAt(index)];
    if (one === other) continue;
    // A surrogate belongs to a character beyond all those of one unit.
    return isHalf(one) === isHalf(other) ? one - other : isHalf(one) ? 1 : -1;
  }
  return left.length - right.length;
}

const isHalf = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;
