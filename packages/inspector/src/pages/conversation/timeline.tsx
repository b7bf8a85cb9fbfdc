import { useVirtualizer } from "@tanstack/react-virtual";
import { type RefObject, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { Item } from "../../acp/conversation/conversation.ts";
import { VerdictBadge } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { visible } from "../../design/format.ts";
import { Icon } from "../../design/icons.tsx";
import { classNames, VirtualRows } from "../../design/layout.tsx";
import { EntryLink, Markdown, TextLink } from "../../design/markdown.tsx";
import { type Origin, type Row, rowsOf } from "./rows.ts";
import { ToolCard } from "./tool-card.tsx";

const NOTES = { note: "text-ink-faint", warn: "text-warn", bad: "text-bad" } as const;
const AHEAD = 8;

/** The conversation as a virtual list, newest at the end. */
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
  const { isAtEnd, toEnd } = useEnd(box, rows, virtual.getTotalSize());
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
        <VirtualRows virtual={virtual} rows={rows} className="mx-auto max-w-4xl">
          {(row, index) => (
            <RowView
              row={row}
              isGrowing={isGrowing && index === rows.length - 1}
              isOpen={open.has(row.key)}
              onToggle={toggle}
            />
          )}
        </VirtualRows>
      </section>
      {!isAtEnd && (
        <Button
          className="absolute right-4 bottom-2 shadow-float"
          title="Go to the newest (End)"
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

/** How near to the end counts as being at it. */
const NEAR = 40;
/** How long after a wheel, touch or key event scrolling counts as the user's. */
const USER_SCROLL_MS = 1_000;
const INPUTS = ["wheel", "touchmove", "keydown", "pointerdown"] as const;

/** Whether a box that scrolled keeps to its end: near the end it does, after an input of the user it does not. */
export function sticksToEnd(
  sticks: boolean,
  { scrollHeight, scrollTop, clientHeight }: Pick<Element, "scrollHeight" | "scrollTop" | "clientHeight">,
  sinceInput: number,
): boolean {
  if (scrollHeight - scrollTop - clientHeight < NEAR) return true;
  return sticks && sinceInput >= USER_SCROLL_MS;
}

/**
 * Keeps the end of a box in view as it grows, until the user scrolls away. The scroll position alone does not show that:
 * heights are estimated and corrected, so the box moves by itself.
 */
function useEnd(
  box: RefObject<HTMLElement | null>,
  ...growth: readonly unknown[]
): { readonly isAtEnd: boolean; readonly toEnd: () => void } {
  const [isAtEnd, setAtEnd] = useState(true);
  const sticks = useRef(true);
  const toEnd = useCallback(() => {
    sticks.current = true;
    setAtEnd(true);
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [box]);
  useLayoutEffect(() => {
    if (sticks.current) toEnd();
  }, [toEnd, ...growth]);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    let lastInput = Number.NEGATIVE_INFINITY;
    const onInput = () => {
      lastInput = performance.now();
    };
    const onScroll = () => {
      sticks.current = sticksToEnd(sticks.current, element, performance.now() - lastInput);
      setAtEnd(sticks.current);
    };
    // Panels that open below shrink the box.
    const sizes = new ResizeObserver(() => sticks.current && toEnd());
    sizes.observe(element);
    const ending = new AbortController();
    const options = { passive: true, signal: ending.signal };
    element.addEventListener("scroll", onScroll, options);
    for (const input of INPUTS) element.addEventListener(input, onInput, options);
    return () => {
      sizes.disconnect();
      ending.abort();
    };
  }, [box, toEnd]);
  return { isAtEnd, toEnd };
}

const NAMES = { user: "You", agent: "Agent", thought: "Thinking", harness: "Reins" } as const;
const LOOKS = {
  user: "border-accent",
  agent: "border-line-strong",
  thought: "border-line text-ink-soft italic",
  harness: "border-warn",
} as const;

/** A longer text is drawn as plain text while it grows. */
const PLAIN_ABOVE = 2_000;

function TextRow({
  row: { from, text, isFirst, said },
  isGrowing,
}: {
  row: Extract<Row, { kind: "text" }>;
  isGrowing: boolean;
}) {
  return (
    <div className={classNames("border-l-2 py-1 pl-3", LOOKS[from])}>
      {isFirst && (
        <p className="flex items-center gap-2 pb-0.5 text-2xs font-medium text-ink-faint not-italic">
          {NAMES[from]}
          {said?.interrupted && <VerdictBadge verdict="interrupted" />}
          {said?.verdict !== undefined && (
            <VerdictBadge
              verdict={said.ungated ? "ungated" : said.verdict}
              {...(said.reason !== undefined && { title: said.reason })}
            />
          )}
          {said?.entry !== undefined && <EntryLink cid={said.entry} />}
        </p>
      )}
      {from === "user" || (isGrowing && text.length > PLAIN_ABOVE) ? (
        <p className="break-words whitespace-pre-wrap">{visible(text)}</p>
      ) : (
        <Markdown text={text} />
      )}
    </div>
  );
}

function ForkLine({ session }: { session: string }) {
  return (
    <p className="flex items-center gap-3 py-3 text-2xs text-ink-soft before:h-px before:flex-1 before:bg-line-strong after:h-px after:flex-1 after:bg-line-strong">
      <span className="flex items-center gap-1.5">
        <Icon name="fork" size={13} />
        Forked here. The agent knows the history above, from{" "}
        <TextLink to="/sessions/$id" params={{ id: session }}>
          the original session
        </TextLink>
      </span>
    </p>
  );
}
