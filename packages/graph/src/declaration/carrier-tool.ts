import { z } from "zod";
import { CARRIER_TOOL, ProtocolOutput } from "./grammar.ts";

/** The one tool that a model is offered: its arguments carry a declaration. */
export interface CarrierTool {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of one object: the tools of most providers take no alternatives at the top. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

const [act] = ProtocolOutput.options;

/** The carrier as a tool of a model. What the arguments may hold in full is checked when they are read. */
export function carrierTool(): CarrierTool {
  const parameters = z.toJSONSchema(
    z.strictObject({
      kind: z
        .enum(["act", "answer", "done"])
        .describe("act executes calls, answer answers the user, done ends the turn"),
      message: act.shape.message.describe("Markdown for the user; an answer has to have it"),
      calls: act.shape.calls.optional().describe("for act: what the runtime is to execute"),
    }),
    { io: "input" },
  );
  const { $schema: _, ...rest } = parameters;
  return {
    name: CARRIER_TOOL,
    description: "Declares what the runtime is to do next. Make exactly one call in each message.",
    parameters: rest,
  };
}
