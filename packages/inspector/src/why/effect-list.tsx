import type { Action } from "@reins/api";
import type { z } from "zod";
import { Badge } from "../design/badge.tsx";
import { Json } from "../design/code.tsx";
import { visibleLine } from "../design/visible.ts";
import { effectText } from "../pages/approvals/effect-text.ts";

/** What an action does, as far as the harness found out by itself. */
export function EffectList({ action }: { action: z.infer<typeof Action> }) {
  const { tool, effects, opaque, doubts, arguments: given } = action;
  return (
    <div className="flex flex-col gap-1 px-3 py-2 text-sm">
      <p className="flex flex-wrap items-center gap-2">
        {tool === "" ? "No tool" : <code className="text-xs">{visibleLine(tool)}</code>}
        {opaque && (
          <Badge tone="warn" title="It may do more than can be seen from outside">
            opaque
          </Badge>
        )}
      </p>
      {effects.length === 0 && !opaque && <p className="text-ink-soft">It changes nothing by itself.</p>}
      <ul className="flex flex-col gap-0.5">
        {effects.map((effect) => (
          <li key={JSON.stringify(effect)} className="font-mono text-xs whitespace-pre-wrap break-all">
            {effectText(effect)}
          </li>
        ))}
      </ul>
      {doubts.map((doubt) => (
        <p key={doubt} className="text-warn">
          {visibleLine(doubt)}
        </p>
      ))}
      {hasMembers(given) && <Json value={given} className="max-h-48" />}
    </div>
  );
}

function hasMembers(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}
