/** A sentence as the command line has it: what is between backticks is code. */
export const WithCode = ({ text }: { readonly text: string }) => (
  <>
    {text.split(/`([^`]+)`/).map((part, place) =>
      place % 2 === 0 ? (
        part
      ) : (
        <span key={place} class="mono">
          {part}
        </span>
      ),
    )}
  </>
);
