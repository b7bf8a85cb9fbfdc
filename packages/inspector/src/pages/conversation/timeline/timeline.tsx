import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useMemo, useRef, useState } from "react";
import type { Item } from "../../../acp/conversation/conversation.ts";
import { Button } from "../../../design/button.tsx";
import { classNames } from "../../../design/class-names.ts";
import { visible } from "../../../design/visible.ts";
import type { Origin } from "../origins/origins.ts";
import { ForkLine } from "./fork-line.tsx";
import { type Row, rowsOf } from "./rows.ts";
import { TextRow } from "./text-row.tsx";
import { ToolCard } from "./tool-card.tsx";
import { useEnd } from "./use-end.ts";

const NOTES = { note: "text-ink-faint", warn: "text-warn", bad: "text-bad" } as const;
const AHEAD = 8;

/** What was said and done, the newest at the end; only what can be seen is drawn. */
export function Timeline({
  items,
  origins,
  isGrowing,
}: {
  items: readonly Item[];
  origins: readonly Origin[];
  isGrowing: boolean;
}) {
  const rows = useMemo(() => rowsOf(items, origins), [items, origins]);
  const box = useRef<HTMLElement>(null);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: (index) => (rows[index]?.kind === "tool" ? 42 : 64),
    getItemKey: useCallback((index: number) => rows[index]?.key ?? index, [rows]),
    overscan: AHEAD,
    gap: 6,
    paddingStart: 12,
    paddingEnd: 12,
    useFlushSync: false,
  });
  const size = virtual.getTotalSize();
  const { isAtEnd, toEnd } = useEnd(box, rows, size);
  const toggle = useCallback((key: string) => {
    setOpen((now) => {
      const next = new Set(now);
      if (!next.delete(key)) next.add(key);
      return next;
    });
  }, []);
  return (
    <div className="relative flex min-h-0 flex-1 flex-col">
      <section
        ref={box}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        aria-label="Conversation"
        className="min-h-0 flex-1 overflow-y-auto px-4 [overflow-anchor:none]"
      >
        <div className="relative mx-auto max-w-4xl" style={{ height: size }}>
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
                {row && (
                  <RowView
                    row={row}
                    isGrowing={isGrowing && index === rows.length - 1}
                    isOpen={open.has(row.key)}
                    onToggle={toggle}
                  />
                )}
              </div>
            );
          })}
        </div>
      </section>
      {!isAtEnd && (
        <Button
          className="absolute right-4 bottom-2 shadow-float"
          title="To the newest (End)"
          onClick={toEnd}
        >
          Newest ↓
        </Button>
      )}
    </div>
  );
}

function RowView({
  row,
  isGrowing,
  isOpen,
  onToggle,
}: {
  row: Row;
  isGrowing: boolean;
  isOpen: boolean;
  onToggle: (key: string) => void;
}) {
  if (row.kind === "text") return <TextRow row={row} isGrowing={isGrowing} />;
  if (row.kind === "tool")
    return <ToolCard call={row.call} isOpen={isOpen} onToggle={() => onToggle(row.key)} />;
  if (row.kind === "fork") return <ForkLine session={row.session} />;
  return <p className={classNames("py-1 text-center text-2xs", NOTES[row.tone])}>{visible(row.text)}</p>;
}
