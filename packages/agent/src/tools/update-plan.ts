import { z } from "zod";
import { defineTool } from "./tool.ts";

/** Shows what is to be done and how far it is. It touches nothing but the agent's own plan. */
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
