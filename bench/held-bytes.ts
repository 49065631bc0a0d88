/** The memory that this process holds after a collection, in bytes; needs `--expose-gc`. */
export function heldBytes(): number {
  global.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
