/** A process that does nothing, for as long as its input lasts. */
process.stdin.resume();
