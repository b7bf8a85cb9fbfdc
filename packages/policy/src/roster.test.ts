import { expect, test } from "vitest";
import { Roster } from "./subject.ts";

const roster = Roster.read(
  [
    '{"session_id":"reed","kind":"role","state":"live","mandate":"mandates/reed.md"}',
    '{"session_id":"coder","kind":"agent","state":"live"}',
    '{"session_id":"resting","kind":"role","state":"idle"}',
    '{"session_id":"gone","kind":"role","state":"dead"}',
    '{"session_id":"twice","kind":"role","state":"live"}',
    '{"session_id":"twice","kind":"role","state":"dead"}',
    "not json",
    "",
  ].join("\n"),
);

test.each([
  ["reed", "standing"],
  ["coder", "registered"],
  ["resting", "registered"],
  ["gone", "unknown"],
  ["twice", "unknown"],
  ["absent", "unknown"],
  ["__proto__", "unknown"],
])("%s is %s", (agent, trust) => {
  expect(roster.trustOf(agent)).toBe(trust);
});

test("lines that cannot be read are named", () => {
  expect(roster.faults).toEqual(["line 7 is no roster entry"]);
  expect(roster.find("reed")?.mandate).toBe("mandates/reed.md");
});
