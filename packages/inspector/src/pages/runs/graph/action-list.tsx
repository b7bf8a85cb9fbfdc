import type { RunAction } from "@reins/api";
import { memo, useState } from "react";
import { StatusBadge } from "../../../design/badge.tsx";
import { Choice, type ChoiceOption } from "../../../design/form.tsx";
import { visibleLine } from "../../../design/format.ts";
import { Icon, type IconName } from "../../../design/icons.tsx";
import { classNames } from "../../../design/layout.tsx";
import { useNow } from "../../../design/moment.tsx";
import { repetitionText, timeTaken } from "./actions.ts";

/** The actions of a run as a list, in run order, of all statuses or of one. */
export function ActionList({
  actions,
  chosen,
  onChoose,
}: {
  actions: readonly RunAction[];
  chosen: string | undefined;
  onChoose: (id: string) => void;
}) {
  const [status, setStatus] = useState("");
  const shown = actions.filter((action) => status === "" || action.status === status);
  return (
    <div className="flex flex-col">
      {actions.length > 10 && (
        <div className="border-b border-line px-3 py-2">
          <Choice
            label="Status"
            className="max-w-56"
            options={statusOptions(actions)}
            value={status}
            onChange={setStatus}
          />
        </div>
      )}
      {shown.length === 0 && <p className="px-3 py-4 text-sm text-ink-soft">No action is {status} now.</p>}
      <ol aria-label="Actions of the run" className="divide-y divide-line">
        {shown.map((action) => (
          <ActionRow key={action.id} action={action} isChosen={action.id === chosen} onChoose={onChoose} />
        ))}
      </ol>
    </div>
  );
}

/** The statuses that actions have, with their numbers. */
export function statusOptions(actions: readonly RunAction[]): readonly ChoiceOption[] {
  const counts = Map.groupBy(actions, ({ status }) => status);
  return [
    ["", `all (${actions.length})`],
    ...Array.from(counts, ([status, all]): ChoiceOption => [status, `${status} (${all.length})`]),
  ];
}

const ActionRow = memo(function ActionRow({
  action,
  isChosen,
  onChoose,
}: {
  action: RunAction;
  isChosen: boolean;
  onChoose: (id: string) => void;
}) {
  const repetition = repetitionText(action);
  return (
    <li className="[contain-intrinsic-size:auto_3.25rem] [content-visibility:auto]">
      <button
        type="button"
        data-action={action.id}
        aria-current={isChosen || undefined}
        onClick={() => onChoose(action.id)}
        className={classNames(
          "grid w-full cursor-pointer grid-cols-[5.5rem_minmax(0,1fr)] items-start gap-x-3 gap-y-0.5 px-3 py-2 text-left text-sm hover:bg-sunken md:grid-cols-[5.5rem_minmax(0,1fr)_auto]",
          isChosen && "bg-accent-wash",
        )}
      >
        <span>
          <StatusBadge status={action.status} />
        </span>
        <span className="line-clamp-2 break-words">{visibleLine(action.title)}</span>
        <span className="flex min-w-0 flex-wrap items-center gap-x-2 text-2xs text-ink-faint max-md:col-start-2 md:justify-end">
          <ExecutorName executor={action.executor} />
          {repetition !== "" && <span>{repetition}</span>}
          <Elapsed action={action} />
        </span>
        {action.status_reason !== undefined && (
          <span className="line-clamp-2 break-words col-start-2 text-2xs text-ink-soft md:col-span-2">
            {visibleLine(action.status_reason)}
          </span>
        )}
      </button>
    </li>
  );
});

/** How long an action took; it counts until the action ends. */
export function Elapsed({ action }: { action: RunAction }) {
  const isCounting = action.status === "running" || action.status === "waiting";
  return isCounting ? <Counting action={action} /> : timeTaken(action, 0);
}

function Counting({ action }: { action: RunAction }) {
  return <span className="tabular-nums">{timeTaken(action, useNow(1_000))}</span>;
}

const ICONS: Readonly<Record<string, IconName>> = {
  tool: "tool",
  agent: "agents",
  runtime: "runtime",
  human: "human",
  pipeline: "pipeline",
  service: "service",
};

/** What executes an action: its kind as an icon, and its kind and name; the short form leaves the kind to the icon. */
export function ExecutorName({
  executor: { type, target },
  isShort = false,
}: Pick<RunAction, "executor"> & { isShort?: boolean }) {
  const icon = type === undefined ? undefined : ICONS[type];
  const name = executorText({ type, target });
  return (
    <span className="inline-flex min-w-0 items-center gap-1" title={name}>
      {icon && <Icon name={icon} size={13} />}
      {isShort && type !== undefined && <span className="sr-only">{visibleLine(type)}</span>}
      <span className="truncate">{isShort && target !== "auto" ? visibleLine(target) : name}</span>
    </span>
  );
}

/** The kind of an executor and its name, once if they are the same. */
export function executorText({ type, target }: Pick<RunAction["executor"], "type" | "target">): string {
  const name = target === "auto" ? "" : target;
  return visibleLine([...new Set([type ?? "", name])].filter(Boolean).join(" · ")) || "not chosen yet";
}
