import type { ReactNode } from "react";
import { classNames } from "./layout.tsx";

/** A table. It scrolls sideways on a narrow screen. */
export function Table({
  label,
  columns,
  children,
}: {
  label: string;
  columns: readonly { readonly title: string; readonly isNumber?: boolean; readonly isHidden?: boolean }[];
  children: ReactNode;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className="relative overflow-x-auto" tabIndex={0} aria-label={label}>
      <table className="w-full border-collapse text-sm">
        <caption className="sr-only">{label}</caption>
        <thead>
          <tr className="border-b border-line text-2xs text-ink-faint">
            {columns.map(({ title, isNumber, isHidden }) => (
              <th
                key={title}
                scope="col"
                className={classNames(
                  "px-3 py-1.5 font-medium whitespace-nowrap",
                  isNumber ? "text-right" : "text-left",
                )}
              >
                <span className={isHidden ? "sr-only" : ""}>{title}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="divide-y divide-line">{children}</tbody>
      </table>
    </section>
  );
}

export function Cell({
  isNumber,
  isExact,
  className,
  children,
}: {
  isNumber?: boolean;
  isExact?: boolean;
  className?: string;
  children?: ReactNode;
}) {
  return (
    <td
      className={classNames(
        "px-3 py-1.5 align-top",
        isNumber && "text-right tabular-nums whitespace-nowrap",
        isExact && "font-mono text-xs",
        className,
      )}
    >
      {children}
    </td>
  );
}
