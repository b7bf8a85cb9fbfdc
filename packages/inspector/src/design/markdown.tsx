import { memo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { classNames } from "./layout.tsx";
import { visible } from "./visible.ts";

const PLUGINS = [remarkGfm];

const COMPONENTS: Components = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noreferrer noopener" className="text-accent underline" title={href}>
      {children}
    </a>
  ),
  // Loading an image would report the reader to its server, so only its name is shown.
  img: ({ src, alt }) => (
    <span className="rounded bg-sunken px-1 font-mono text-xs break-all text-ink-soft">
      [picture not loaded: {alt !== undefined && alt !== "" ? `${alt}, ` : ""}
      {String(src ?? "")}]
    </span>
  ),
};

/** Renders Markdown. Nothing in it loads or runs, and hidden characters are escaped. */
export const Markdown = memo(function Markdown({ text, className }: { text: string; className?: string }) {
  return (
    <div className={classNames("prose", className)}>
      <ReactMarkdown remarkPlugins={PLUGINS} components={COMPONENTS}>
        {visible(text)}
      </ReactMarkdown>
    </div>
  );
});
