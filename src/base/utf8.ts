// Node counts without making the bytes.
const platform: { readonly Buffer?: { readonly byteLength: (text: string) => number } } = globalThis;
const encoder = new TextEncoder();

/** The number of bytes of a text in UTF-8; a lone surrogate counts as the three bytes of its replacement. */
export function utf8Length(text: string): number {
  return platform.Buffer?.byteLength(text) ?? encoder.encode(text).length;
}
