import { expect, it } from "vitest";
import { readCarried } from "./carrier.ts";
import { CARRIER_TOOL } from "./grammar.ts";
import { countMessage, NO_COMPLIANCE } from "./instructions.ts";

it("Messages are counted by how well they keep to the protocol", () => {
  const read = (text: string, ...calls: readonly { name: string; arguments: string }[]) =>
    readCarried({ text, calls, isComplete: true }, { isEnabled: true, knowsTool: () => true });
  const own = { name: CARRIER_TOOL, arguments: '{"kind":"done"}' };
  const direct = { name: "read", arguments: "{}" };
  const counts = [
    read("", own),
    read("hello"),
    read("", direct),
    read("", own, direct),
    "refused" as const,
  ].reduce(countMessage, NO_COMPLIANCE);
  expect(counts).toEqual({ messages: 4, compliant: 1, recovered: 1, violations: 2, errors: 1 });
});
