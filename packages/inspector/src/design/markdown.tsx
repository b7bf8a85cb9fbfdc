import { createLink, Link } from "@tanstack/react-router";
import { type AnchorHTMLAttributes, memo, type ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { visible } from "./format.ts";
import { classNames } from "./layout.tsx";

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

function Anchor({ className, ...rest }: AnchorHTMLAttributes<HTMLAnchorElement>) {
  return <a className={classNames("text-accent underline", className)} {...rest} />;
}

/** A link within a text. */
export const TextLink = createLink(Anchor);

/** Links to a session by the beginning of its id. */
export function SessionLink({ id, length = 8 }: { id: string; length?: number }) {
  return (
    <TextLink to="/sessions/$id" params={{ id }} className="font-mono text-xs">
      {visible(id.length > length ? `${id.slice(0, length)}…` : id)}
    </TextLink>
  );
}

/** Links to an entry of the ledger, by the beginning of its content id unless `children` are given. */
export function EntryLink({ cid, children }: { cid: string; children?: ReactNode }) {
  return (
    <Link
      to="/ledger/$cid"
      params={{ cid }}
      title={`Entry ${cid}`}
      className={classNames("text-accent hover:underline", children === undefined && "font-mono text-xs")}
    >
      {children ?? `${cid.slice(0, 10)}…`}
    </Link>
  );
}
