import { type AssistantMessage, type CarrierContext, readCarried } from "../src/declaration/carrier.ts";
import { CARRIER_TOOL } from "../src/declaration/grammar.ts";
import { graphOfCalls, graphOfDeclaration } from "../src/declaration/graph.ts";

export const CONTEXT: CarrierContext = {
  isEnabled: true,
  knowsTool: (name) => name === "read" || name === "glob",
};

/** A complete message with native calls. */
export function message(text: string, ...calls: readonly (readonly [string, unknown])[]): AssistantMessage {
  return {
    text,
    calls: calls.map(([name, args]) => ({
      name,
      arguments: typeof args === "string" ? args : JSON.stringify(args),
    })),
    isComplete: true,
  };
}

/** A message that declares by the native call. */
export const native = (output: unknown, text = "") => message(text, [CARRIER_TOOL, output]);
/** A message that declares by a fenced block, with Markdown after it. */
export const fenced = (declaration: unknown, after = "") =>
  message(
    `Before.\n\n\`\`\`json agent-protocol\n${typeof declaration === "string" ? declaration : JSON.stringify(declaration)}\n\`\`\`\n${after}`,
  );
/** A declaration of the full form. */
export const declaration = (more: object) => ({
  type: "agent.protocol",
  version: "1",
  intent: "execute",
  ...more,
});
/** A declaration of some actions. */
export const graph = (...actions: readonly object[]) =>
  declaration({ payload: { type: "action_graph", actions } });

/** Reads a message as far as to a graph, where it declares one. */
export function read(given: AssistantMessage, context = CONTEXT) {
  const carried = readCarried(given, context);
  if (carried.kind === "calls") return graphOfCalls(carried.output);
  if (carried.kind !== "declaration") return carried;
  const { declaration: declared, sections } = carried;
  const { intent } = declared;
  return intent === "execute" || intent === "plan" || intent === "revise"
    ? graphOfDeclaration(declared, sections)
    : declared;
}
