/**
 * The sizes of a request's input, in tokens, at which price files change their prices. A bill keeps requests apart by them, so that a
 * row stays small; a limit between two of these cannot be applied to it.
 */
export const inputSizes: readonly number[] = [
  ...[16_000, 32_000, 64_000, 100_000, 128_000, 200_000, 256_000, 272_000, 512_000, 1_000_000],
];
