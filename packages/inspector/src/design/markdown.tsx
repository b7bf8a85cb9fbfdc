import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { classNames } from "./class-names.ts";

const PLUGINS = [remarkGfm];

const COMPONENTS: Components = {
  // A picture would tell its server who reads this, and when: it is named, and loads when it is asked for.
  img: ({ src, alt }) => (
    <a href={typeof src === "string" ? src : undefined} target="_blank" rel="noreferrer noopener">
      [picture: {alt || String(src)}]
    </a>
  ),
  a: ({ href, children }) => (
    <a href={href} title={href} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  ),
};

/** Text with Markdown in it. Nothing in it loads or runs by itself. */
export function Markdown({ text, className }: { text: string; className?: string }) {
  return (
    <div className={classNames("prose", className)}>
      <ReactMarkdown remarkPlugins={PLUGINS} components={COMPONENTS}>
        {text}
      </ReactMarkdown>
    </div>
  );
}
