import { memo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { visible } from "../../../design/visible.ts";

const COMPONENTS: Components = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noreferrer noopener" className="text-accent underline" title={href}>
      {children}
    </a>
  ),
  // A picture would tell its server that somebody reads this; it is named instead.
  img: ({ src, alt }) => (
    <span className="rounded bg-sunken px-1 font-mono text-xs break-all text-ink-soft">
      [picture not loaded: {alt !== undefined && alt !== "" ? `${alt}, ` : ""}
      {String(src ?? "")}]
    </span>
  ),
};
const PLUGINS = [remarkGfm];

/** A part of what is said, as Markdown. Nothing in it is loaded, and nothing in it is hidden. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <div className="prose">
      <ReactMarkdown remarkPlugins={PLUGINS} components={COMPONENTS}>
        {visible(text)}
      </ReactMarkdown>
    </div>
  );
});
