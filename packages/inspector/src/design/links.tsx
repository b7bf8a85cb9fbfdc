import { createLink, Link } from "@tanstack/react-router";
import type { AnchorHTMLAttributes, ReactNode } from "react";
import { classNames } from "./layout.tsx";
import { visible } from "./visible.ts";

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
