import type { Virtualizer } from "@tanstack/react-virtual";
import type { ReactNode } from "react";

/** The rows of a list that are in view, each at its place and measured. */
export function VirtualRows<Row, Box extends Element>({
  virtual,
  rows,
  className = "",
  children,
}: {
  virtual: Virtualizer<Box, Element>;
  rows: readonly Row[];
  className?: string;
  children: (row: Row, index: number) => ReactNode;
}) {
  return (
    <div className={`relative ${className}`} style={{ height: virtual.getTotalSize() }}>
      {virtual.getVirtualItems().map(({ index, key, start }) => {
        const row = rows[index];
        return (
          <div
            key={key}
            data-index={index}
            ref={virtual.measureElement}
            className="absolute inset-x-0 top-0"
            style={{ transform: `translateY(${start}px)` }}
          >
            {row !== undefined && children(row, index)}
          </div>
        );
      })}
    </div>
  );
}
