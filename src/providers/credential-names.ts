/** Whether a header, or a member of an address's query, is called as those are that hold credentials. */
export const isCredentialName = (name: string): boolean =>
  /(authorization|key|token|secret|password|signature|sig|cookie|credentials?)$/i.test(name);
