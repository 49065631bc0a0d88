import type { ComponentChildren } from "preact";

/** A named part of a decision. */
export const Field = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }) => (
  <div class="decision-field">
    <span class="text-3">{name}</span>
    <div>{children}</div>
  </div>
);
