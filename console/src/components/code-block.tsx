import { CopyButton } from './copy-button.tsx';

interface CodeBlockProps {
  readonly text: string;
  /** What is copied, for screen readers. */
  readonly label: string;
}

/** A text in several lines, to read and to copy. */
export const CodeBlock = ({ text, label }: CodeBlockProps) => (
  <div className="code">
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll it */}
    <pre tabIndex={0}>{text}</pre>
    <CopyButton text={text} label={label} />
  </div>
);
