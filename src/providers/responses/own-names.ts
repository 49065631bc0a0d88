/** The names of a wire's members in blocks, in both directions. */
export type OwnNames = {
  /** The name in a block of a member of the wire. */
  readonly own: (name: string) => string;
  /** The name on the wire of a member of a block. */
  readonly wire: (name: string) => string;
  /** Whether a member of a block has the wire's name in place of turnlog's: no codec could read it back. */
  readonly isForeign: (name: string) => boolean;
};

/**
 * Maps wire names to turnlog's. If the wire uses one of turnlog's names for another member, blocks add a `$` to it, so that nothing is lost
 * and both directions are exact.
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
