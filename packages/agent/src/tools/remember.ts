import { z } from "zod";
import { defineTool } from "./tool.ts";
import { ToolError } from "./tool-error.ts";

/** Keeps a fact for later sessions. */
export const remember = defineTool({
  name: "remember",
  description:
    "Keeps a fact about this workspace or this person, so that later sessions find it. One sentence at a time.",
  kind: "other",
  arguments: z.strictObject({
    content: z.string().min(1).max(4_096).describe("The fact, so that it can stand alone"),
  }),
  title: ({ content }) => `Remember: ${content}`,
  async perform({ content }, { memory, services, sessionId, roots }) {
    if (!memory) throw new ToolError("failed", "nothing can be kept here");
    const session = services.nameOf?.(sessionId) ?? sessionId;
    await memory.remember({ content, source: `session:${session}`, workspace: roots.cwd });
    return { text: "Kept." };
  },
});
