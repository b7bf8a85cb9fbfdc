import { Tabs as Radix } from "radix-ui";
import type { ReactNode } from "react";

/** One thing seen from several sides, a side at a time. */
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
