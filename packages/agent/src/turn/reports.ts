import { checkOf } from "../tools/check.ts";
import type { PlanEntry, ToolOutcome } from "../tools/tool.ts";
import type { Turn } from "./turn.ts";

/** Shows a plan to clients, and tells it as the run's list of tasks. */
export async function showPlan(turn: Turn, entries: readonly PlanEntry[]): Promise<void> {
  turn.tell("task_list", {
    run_id: turn.id,
    session_id: turn.setting.sessionId,
    tasks: entries.map(({ content, status }, index) => ({ id: String(index + 1), title: content, status })),
    updated_at: turn.now(),
  });
  await turn.setting.emit({ type: "plan", entries });
}

/** Tells what a command that checks the work found. */
export function reportCheck(turn: Turn, toolCallId: string, check: NonNullable<ToolOutcome["check"]>): void {
  const { command, passed, message } = check;
  const status = passed ? "passed" : "failed";
  turn.reach("verifying");
  turn.tell("verification", {
    run_id: turn.id,
    session_id: turn.setting.sessionId,
    status,
    checks: [{ id: toolCallId, subject: checkOf(command) ?? "work", status, command, message }],
    updated_at: turn.now(),
  });
}
