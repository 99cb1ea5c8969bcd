import { CopyButton, type CopyButtonProps } from './copy-button.tsx';

/** A text in several lines, to read and to copy. */
export const CodeBlock = ({ text, label }: CopyButtonProps) => (
  <div className="code">
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll it */}
    <pre tabIndex={0}>{text}</pre>
    <CopyButton text={text} label={label} />
  </div>
);
