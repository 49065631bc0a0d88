/** By what a bill lists costs, apart from labels. */
export const billKinds = ["model", "conversation", "provider", "day", "run", "layer"] as const;

/** By what a bill lists costs. A label's value is that of the conversation that caused the cost. */
export type BillBy = (typeof billKinds)[number] | `label:${string}`;

/** Whether a text is one of these; a label has a name. */
export const isBillBy = (text: string): text is BillBy =>
  billKinds.some((kind) => kind === text) || /^label:./s.test(text);
