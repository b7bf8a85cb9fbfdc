import { Fragment, type Key, type ReactNode } from "react";
import { classNames } from "./layout.tsx";

interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row, index: number) => ReactNode;
  readonly isNumber?: boolean;
  /** Whether the cells are in a monospaced font. */
  readonly isExact?: boolean;
  /** Whether only screen readers get the title. */
  readonly isHidden?: boolean;
  readonly className?: string;
}

/** A table. It scrolls sideways on a narrow screen. */
export function Table<Row>({
  label,
  rows,
  keyOf,
  columns,
  empty,
  isChosen,
  below,
}: {
  label: string;
  rows: readonly Row[];
  keyOf: (row: Row) => Key;
  columns: readonly Column<Row>[];
  /** What is shown in place of a table without rows. */
  empty?: ReactNode;
  isChosen?: (row: Row) => boolean;
  /** What follows a row over the whole width. */
  below?: (row: Row) => ReactNode;
}) {
  if (rows.length === 0 && empty !== undefined) return empty;
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
        <tbody className="divide-y divide-line">
          {rows.map((row, index) => {
            const more = below?.(row);
            return (
              <Fragment key={keyOf(row)}>
                <tr className={classNames(isChosen?.(row) && "bg-accent-wash")}>
                  {columns.map(({ title, cell, isNumber, isExact, className }) => (
                    <td
                      key={title}
                      className={classNames(
                        "px-3 py-1.5 align-top",
                        isNumber && "text-right tabular-nums whitespace-nowrap",
                        isExact && "font-mono text-xs",
                        className,
                      )}
                    >
                      {cell(row, index)}
                    </td>
                  ))}
                </tr>
                {more && (
                  <tr>
                    <td colSpan={columns.length} className="px-3 pb-2">
                      {more}
                    </td>
                  </tr>
                )}
              </Fragment>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}
