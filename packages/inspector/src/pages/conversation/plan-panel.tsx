import type { PlanStep } from "../../acp/conversation/conversation.ts";
import { classNames } from "../../design/class-names.ts";
import { visible } from "../../design/visible.ts";

const MARKS: Readonly<Record<string, string>> = { completed: "✓", in_progress: "▸", pending: "·" };

/** What the agent plans to do, and how far it is. */
export function PlanPanel({ plan }: { plan: readonly PlanStep[] }) {
  if (plan.length === 0) return null;
  const done = plan.filter(({ status }) => status === "completed").length;
  const now = plan.find(({ status }) => status === "in_progress");
  return (
    <details className="border-b border-line bg-surface px-4 py-1.5 text-sm">
      <summary className="flex cursor-pointer items-center gap-3">
        <span className="font-medium">Plan</span>
        <progress
          className="h-1.5 w-24 appearance-none overflow-hidden rounded bg-sunken [&::-moz-progress-bar]:bg-accent [&::-webkit-progress-bar]:bg-sunken [&::-webkit-progress-value]:bg-accent"
          aria-label="Progress of the plan"
          value={done}
          max={plan.length}
        />
        <span className="text-ink-soft tabular-nums">
          {done} of {plan.length}
        </span>
        {now && <span className="min-w-0 flex-1 truncate text-ink-soft">{visible(now.content)}</span>}
      </summary>
      <ol className="flex flex-col gap-0.5 pt-1.5">
        {plan.map(({ content, status }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: steps have nothing but their place
          <li key={index} className={classNames("flex gap-2", status === "completed" && "text-ink-faint")}>
            <span aria-hidden="true" className="w-3">
              {MARKS[status] ?? "·"}
            </span>
            <span className="sr-only">{status.replace("_", " ")}:</span>
            <span className="min-w-0 break-words">{visible(content)}</span>
          </li>
        ))}
      </ol>
    </details>
  );
}
