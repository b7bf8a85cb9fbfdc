import type { Virtualizer } from "@tanstack/react-virtual";
import { Tabs as Radix } from "radix-ui";
import { Fragment, type ReactNode, useEffect, useSyncExternalStore } from "react";

/** Joins class names and skips those that do not apply. */
export function classNames(...names: readonly (string | false | undefined)[]): string {
  return names.filter(Boolean).join(" ");
}

/** A page with heading, actions and content. */
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
  useTitle(title);
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <header className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line px-4 py-2.5">
        <div className="min-w-0 flex-[1_1_12rem]">
          <h1 className="truncate text-base font-semibold">{title}</h1>
          {about !== undefined && <p className="text-sm text-ink-soft">{about}</p>}
        </div>
        <div className="flex flex-wrap items-center gap-1.5">{actions}</div>
      </header>
      <div className="flex min-h-0 flex-1 flex-col gap-3 overflow-auto p-4">{children}</div>
    </div>
  );
}

/** Sets the title of the window. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Reins`;
  }, [title]);
}

/** A section of a page with its own heading. */
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

/** A part of a panel with a small heading. */
export function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="border-t border-line">
      <h3 className="px-3 pt-2 text-2xs font-medium text-ink-faint">{title}</h3>
      {children}
    </section>
  );
}

/** A list of names and values. Values that are absent, false or empty are left out. */
export function Facts({ facts }: { facts: Readonly<Record<string, ReactNode>> }) {
  return (
    <dl className="grid grid-cols-[minmax(6rem,auto)_minmax(0,1fr)] gap-x-4 gap-y-1 px-3 py-2 text-sm">
      {Object.entries(facts).map(
        ([name, value]) =>
          value !== undefined &&
          value !== null &&
          value !== false &&
          value !== "" && (
            <Fragment key={name}>
              <dt className="text-ink-faint">{name}</dt>
              <dd className="min-w-0 whitespace-pre-wrap break-words">{value}</dd>
            </Fragment>
          ),
      )}
    </dl>
  );
}

export function Tabs({
  value,
  onChange,
  tabs,
}: {
  value: string;
  onChange: (value: string) => void;
  tabs: readonly { readonly value: string; readonly label: ReactNode; readonly content: ReactNode }[];
}) {
  return (
    <Radix.Root value={value} onValueChange={onChange} className="flex min-h-0 flex-1 flex-col">
      <Radix.List className="flex gap-1 overflow-x-auto border-b border-line px-2">
        {tabs.map((tab) => (
          <Radix.Trigger
            key={tab.value}
            value={tab.value}
            className="cursor-pointer border-b-2 border-transparent px-2 py-1.5 text-sm whitespace-nowrap text-ink-soft hover:text-ink data-[state=active]:border-accent data-[state=active]:text-ink"
          >
            {tab.label}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map((tab) => (
        <Radix.Content key={tab.value} value={tab.value} className="min-h-0 flex-1">
          {tab.content}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}

const NARROW = "(max-width: 767px)";

/** Whether the screen is as narrow as a phone's. */
export function useNarrow(): boolean {
  return useSyncExternalStore(subscribeToWidth, () => window.matchMedia(NARROW).matches);
}

function subscribeToWidth(onChange: () => void): () => void {
  const narrow = window.matchMedia(NARROW);
  narrow.addEventListener("change", onChange);
  return () => narrow.removeEventListener("change", onChange);
}

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
