const encoder = new TextEncoder();

/** The number of bytes of a text in UTF-8; a lone surrogate counts as the three bytes of its replacement. */
export function utf8Length(text: string): number {
  return globalThis.Buffer === undefined ? encoder.encode(text).length : Buffer.byteLength(text);
}
