import { ApiError } from "@reins/sdk";
import type { ReactNode } from "react";
import { Button } from "./button.tsx";

/** An empty list, and how to fill it. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-2 px-6 py-10 text-center">
      <p className="font-medium">{title}</p>
      <div className="max-w-prose text-sm text-ink-soft">{children}</div>
    </div>
  );
}

/** A loading indicator. */
export function Waiting({ what }: { what: string }) {
  return (
    <p role="status" className="motion-safe:animate-pulse px-3 py-4 text-sm text-ink-soft">
      {what} …
    </p>
  );
}

/** The data of a query; while there is none, a loading indicator, and after a failure the error and a retry. */
export function Loaded<Data>({
  query: { data, error, refetch },
  what,
  children,
}: {
  query: { readonly data: Data | undefined; readonly error: unknown; readonly refetch: () => unknown };
  /** What is done while there is no data: "Loading runs". */
  what: string;
  children: (data: Data) => ReactNode;
}) {
  return (
    <>
      {hasFailed(error) && (
        <div className="p-3">
          <Failure error={error} onRetry={() => void refetch()} />
        </div>
      )}
      {data !== undefined ? children(data) : !hasFailed(error) && <Waiting what={what} />}
    </>
  );
}

function hasFailed(error: unknown): boolean {
  return error !== null && error !== undefined;
}

/** An error: what happened and what to do; nothing if there is none. */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  if (!hasFailed(error)) return null;
  const title = error instanceof ApiError ? error.title : "The request failed";
  const detail =
    error instanceof ApiError
      ? error.detail || undefined
      : error instanceof Error
        ? error.message
        : String(error);
  return (
    <Alert title={title} detail={detail} action={onRetry && <Button onClick={onRetry}>Try again</Button>} />
  );
}

/** Something that went wrong: what happened, what to do, and a button that does it. */
export function Alert({
  title,
  detail,
  action,
}: {
  title: string;
  detail?: string | undefined;
  action?: ReactNode;
}) {
  return (
    <div
      role="alert"
      className="flex items-start gap-3 rounded border border-bad bg-bad-wash px-3 py-2 text-sm"
    >
      <div className="min-w-0 flex-1">
        <p className="font-medium text-bad">{title}</p>
        {detail !== undefined && <p className="whitespace-pre-wrap break-words text-ink">{detail}</p>}
      </div>
      {action}
    </div>
  );
}

/** A progress bar; without `part` it is indeterminate. */
export function ProgressBar({ label, part }: { label: string; part: number | undefined }) {
  const percent = part === undefined ? undefined : Math.round(100 * Math.min(1, Math.max(0, part)));
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuenow={percent}
      className="h-1 w-full overflow-hidden rounded-full bg-sunken"
    >
      <div
        className={`h-full rounded-full bg-accent motion-safe:transition-[width] ${percent === undefined ? "motion-safe:animate-pulse" : ""}`}
        style={{ width: `${percent ?? 100}%` }}
      />
    </div>
  );
}
