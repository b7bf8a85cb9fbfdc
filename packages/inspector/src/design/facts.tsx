import { Fragment, type ReactNode } from "react";

/** What is known of something, a name and a value each. */
export function Facts({ facts }: { facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="grid grid-cols-[minmax(6rem,auto)_minmax(0,1fr)] gap-x-4 gap-y-1 px-3 py-2 text-sm">
      {facts.map(([name, value]) => (
        <Fragment key={name}>
          <dt className="text-ink-faint">{name}</dt>
          <dd className="min-w-0 whitespace-pre-wrap break-words">{value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}
