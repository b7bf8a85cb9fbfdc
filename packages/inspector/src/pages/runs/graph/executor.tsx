import type { RunAction } from "@reins/api";
import { Icon, type IconName } from "../../../design/icons.tsx";
import { visibleLine } from "../../../design/visible.ts";

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
