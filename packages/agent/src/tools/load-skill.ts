import { SkillError } from "@reins/bridge";
import { z } from "zod";
import { defineTool, ToolError } from "./tool.ts";

/** Shows the instructions of a skill, and puts it to use. */
export const loadSkill = defineTool({
  name: "load_skill",
  description:
    "Loads the instructions of a skill by its name, or a file that they refer to. Call it before you begin work that one of the listed skills is for.",
  kind: "read",
  isReadOnly: true,
  isRuntime: true,
  arguments: z.strictObject({
    name: z.string().min(1).max(200).describe("The skill, as it is listed"),
    arguments: z
      .string()
      .max(4_096)
      .optional()
      .describe("What the skill is to work on, where it takes arguments"),
    file: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .describe("A file of the skill to read instead, as the loaded instructions list it"),
  }),
  title: ({ name, file }) =>
    file === undefined ? `Load the skill ${name}` : `Read ${file} of the skill ${name}`,
  async perform({ name, arguments: given, file }, { loadSkill: load }) {
    if (!load) throw new ToolError("failed", "there are no skills here");
    try {
      return { text: await load(name, { arguments: given, file }) };
    } catch (error) {
      if (error instanceof SkillError) throw new ToolError("failed", error.message, { cause: error });
      throw error;
    }
  },
});
