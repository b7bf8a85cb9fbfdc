import type { Memory } from "@reins/bridge";
import { z } from "zod";
import { deleteFile, editFile, readFile, writeFile } from "./file-tools.ts";
import type { HostServices } from "./host-services.ts";
import { postBoard, readBoard, readMailbox, remember, sendMessage } from "./host-tools.ts";
import { listFiles } from "./list-files.ts";
import { loadSkill } from "./load-skill.ts";
import { runCommand } from "./run-command.ts";
import { search } from "./search.ts";
import { spawnSubagent } from "./spawn-subagent.ts";
import { defineTool, type Tool } from "./tool.ts";

/** The tools of the native agent whose services are available. */
export function allTools(
  { mail, board, subagents, skills, bridge }: HostServices,
  memory: Memory | undefined,
): readonly Tool[] {
  return [
    readFile,
    listFiles,
    search,
    ...(mail ? [sendMessage, readMailbox] : []),
    ...(board ? [readBoard, postBoard] : []),
    ...(subagents ? [spawnSubagent] : []),
    writeFile,
    editFile,
    deleteFile,
    runCommand,
    ...(memory ? [remember] : []),
    ...(skills || bridge ? [loadSkill] : []),
    updatePlan,
  ];
}

/** Shows the plan and its progress. It changes nothing but the agent's own plan. */
export const updatePlan = defineTool({
  name: "update_plan",
  description:
    "Shows the plan for the task and how far it is. Give all entries each time; one is in progress at a time.",
  kind: "think",
  isReadOnly: true,
  isInner: true,
  arguments: z.strictObject({
    entries: z
      .array(
        z.strictObject({
          content: z.string().min(1).max(500),
          status: z.enum(["pending", "in_progress", "completed"]),
          priority: z.enum(["high", "medium", "low"]).default("medium"),
        }),
      )
      .max(50),
  }),
  title: () => "Update the plan",
  perform: async ({ entries }) => ({ text: "Shown.", plan: entries }),
});
