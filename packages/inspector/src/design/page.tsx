import { type ReactNode, useEffect } from "react";

/** A page: its heading, what can be done on it, and what is on it. */
export function Page({
  title,
  about,
  actions,
  children,
}: {
  title: string;
  about?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · Reins`;
  }, [title]);
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <header className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line px-4 py-2.5">
        <div className="min-w-0 flex-1">
          <h1 className="truncate text-base font-semibold">{title}</h1>
          {about !== undefined && <p className="text-sm text-ink-soft">{about}</p>}
        </div>
        <div className="flex flex-wrap items-center gap-1.5">{actions}</div>
      </header>
      <div className="flex min-h-0 flex-1 flex-col gap-3 overflow-auto p-4">{children}</div>
    </div>
  );
}
