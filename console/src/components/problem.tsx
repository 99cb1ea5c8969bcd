/** Why something failed, read out when it appears; nothing if the text is empty. */
export const Problem = ({ text }: { readonly text: string }) =>
  text === '' ? null : (
    <p className="problem" role="alert">
      {text}
    </p>
  );

/** What the server warns of. */
export const Warnings = ({ texts }: { readonly texts: readonly string[] }) =>
  texts.map((text) => (
    <p key={text} className="warning wrap-anywhere">
      {text}
    </p>
  ));
