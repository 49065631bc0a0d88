/** Keys of a page, in its foot: each with what it does. */
export const KeyHints = ({
  hints,
}: {
  readonly hints: readonly (readonly [keys: readonly string[], words: string])[];
}) => (
  <span class="right hint-more">
    {hints.map(([keys, words]) => (
      <span key={words}>
        {keys.map((key) => (
          <kbd key={key}>{key}</kbd>
        ))}
        {words}
      </span>
    ))}
  </span>
);
