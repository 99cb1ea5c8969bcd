/** Why something failed, read out when it appears; nothing if the text is empty. */
export const Problem = ({ text }: { readonly text: string }) =>
  text === '' ? null : (
    <p className="problem" role="alert">
      {text}
    </p>
  );
