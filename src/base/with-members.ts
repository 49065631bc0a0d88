/** An object with the members of the given one, its class's included, each as `memberOf` makes it. Getters stay getters. */
export function withMembers<Given extends object>(
  given: Given,
  memberOf: (name: PropertyKey, value: unknown) => unknown,
): Given {
  const copy = {};
  for (let from: object | null = given; from !== null && from !== Object.prototype; from = prototypeOf(from)) {
    for (const name of Reflect.ownKeys(from)) {
      if (name === "constructor" || Object.hasOwn(copy, name)) continue;
      const isComputed = Object.getOwnPropertyDescriptor(from, name)?.get !== undefined;
      const member = isComputed
        ? { get: (): unknown => memberOf(name, Reflect.get(given, name)) }
        : { value: memberOf(name, Reflect.get(given, name)), writable: true };
      Object.defineProperty(copy, name, { ...member, enumerable: true, configurable: true });
    }
  }
  // The cast is safe: the copy has every member, and a function for each function.
  return copy as Given;
}

// The library types the result as `any`; a prototype is an object or null.
export const prototypeOf = (value: object): object | null => Object.getPrototypeOf(value) as object | null;
