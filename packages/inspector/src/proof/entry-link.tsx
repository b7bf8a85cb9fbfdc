import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

/** Leads to an entry of the ledger, where it is explained and proved. */
export function EntryLink({ cid, children }: { cid: string; children?: ReactNode }) {
  return (
    <Link
      to="/ledger/$cid"
      params={{ cid }}
      title={`Entry ${cid}`}
      className={
        children === undefined
          ? "font-mono text-xs text-accent hover:underline"
          : "text-accent hover:underline"
      }
    >
      {children ?? `${cid.slice(0, 10)}…`}
    </Link>
  );
}
