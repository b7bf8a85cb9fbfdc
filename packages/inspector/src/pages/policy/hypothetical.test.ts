import { expect, test } from "vitest";
import { explainRequest } from "./hypothetical.tsx";

const empty = {
  tool: "run_command",
  arguments: "",
  agent: "",
  trust: "",
  enforcement: "",
  cwd: "",
  event_type: "",
};

test("empty fields are left to the server", () => {
  expect(explainRequest(empty)).toEqual({
    event: { tool: "run_command", event_type: undefined, arguments: {} },
    subject: { agent: undefined, trust: undefined, enforcement: undefined },
    cwd: undefined,
  });
});

test("filled fields are sent as they are, arguments as JSON", () => {
  const filled = {
    tool: "run_command",
    arguments: '{"command":"make"}',
    agent: "pond",
    trust: "standing",
    enforcement: "confined",
    cwd: "/w",
    event_type: "pre_action",
  };
  expect(explainRequest(filled)).toEqual({
    event: { tool: "run_command", event_type: "pre_action", arguments: { command: "make" } },
    subject: { agent: "pond", trust: "standing", enforcement: "confined" },
    cwd: "/w",
  });
});

test("trust and enforcement that do not exist are not sent", () => {
  const { subject } = explainRequest({ ...empty, trust: "blind", enforcement: "hoped" });
  expect(subject).toEqual({ agent: undefined, trust: undefined, enforcement: undefined });
});

test.each(["{", "make", "{'a': 1}"])("arguments that are not JSON are rejected: %s", (text) => {
  expect(() => explainRequest({ ...empty, arguments: text })).toThrow("The arguments are not JSON.");
});
