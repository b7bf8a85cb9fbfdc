import type { ReactNode } from "react";
import { classNames } from "./class-names.ts";

/** A part of a page with a heading of its own. */
export function Panel({
  title,
  actions,
  className,
  children,
}: {
  title?: ReactNode;
  actions?: ReactNode;
  className?: string;
  children: ReactNode;
}) {
  return (
    <section className={classNames("rounded border border-line bg-surface", className)}>
      {(title !== undefined || actions !== undefined) && (
        <header className="flex min-h-9 items-center justify-between gap-2 border-b border-line px-3 py-1">
          <h2 className="text-sm font-semibold">{title}</h2>
          <div className="flex items-center gap-1.5">{actions}</div>
        </header>
      )}
      {children}
    </section>
  );
}
