/** How the members of a wire's objects are called in blocks, both ways. */
export type OwnNames = {
  /** What a member of the wire is called in a block. */
  readonly own: (name: string) => string;
  /** What a member of a block is called on the wire. */
  readonly wire: (name: string) => string;
  /** Whether a member of a block has the wire's name where it should have ours: no codec could read it back. */
  readonly isForeign: (name: string) => boolean;
};

/**
 * Names by what the wire calls them. A member that the wire happens to call by one of our names carries one more `$` in blocks,
 * so that nothing is lost and both directions are exact.
 */
export function ownNames(ownByWire: Readonly<Record<string, string>>): OwnNames {
  const owns = new Map(Object.entries(ownByWire));
  const wires = new Map(Object.entries(ownByWire).map(([wire, own]) => [own, wire]));
  const isOurs = (name: string): boolean => wires.has(name.replace(/^\$+/, ""));
  return {
    own: (name) => owns.get(name) ?? (isOurs(name) ? `$${name}` : name),
    wire: (name) => wires.get(name) ?? (name.startsWith("$") && isOurs(name) ? name.slice(1) : name),
    isForeign: (name) => owns.has(name),
  };
}
