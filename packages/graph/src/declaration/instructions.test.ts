import { describe, expect, it } from "vitest";
import { readCarried } from "./carrier.ts";
import { CARRIER_TOOL } from "./grammar.ts";
import { protocolInstructions } from "./instructions.ts";

const executors = [
  { name: "read_file", type: "tool", description: "Reads a file.", capabilities: ["filesystem", "read"] },
] as const;

describe("The instructions", () => {
  it("show the executors and the ways to declare that the agent has", () => {
    const native = protocolInstructions({ executors, carriers: "native" });
    expect(native).toContain('"name": "read_file"');
    expect(native).toContain(CARRIER_TOOL);
    expect(native).not.toContain("json agent-protocol");
    const fenced = protocolInstructions({ executors, carriers: "fenced" });
    expect(fenced).toContain("json agent-protocol");
    expect(fenced).not.toContain(CARRIER_TOOL);
    for (const part of [CARRIER_TOOL, "json agent-protocol"])
      expect(protocolInstructions({ executors })).toContain(part);
  });

  it("declare nothing when a model repeats them", () => {
    const text = protocolInstructions({ executors });
    const message = { text, calls: [], isComplete: true };
    expect(readCarried(message, { isEnabled: true, knowsTool: () => true })).toEqual({ kind: "text", text });
  });
});
