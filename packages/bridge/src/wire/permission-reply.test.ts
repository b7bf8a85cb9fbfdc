import { expect, test } from "vitest";
import { type PermissionReply, readPermissionReply } from "./bridge-port.ts";

const OPTIONS = [
  { optionId: "once", kind: "allow_once" },
  { optionId: "always", kind: "allow_always" },
  { optionId: "no", kind: "reject_once" },
  { optionId: "never", kind: "reject_always" },
  { optionId: "odd", kind: "allow_everything" },
];
const GRANTED = { kind: "granted", option: "allow_once" } as const;
const DENIED = { kind: "denied" } as const;
const args = { path: "a" };

const REPLIES: readonly (readonly [string, unknown, PermissionReply])[] = [
  // The four forms of the protocol.
  ["selected without an option", { outcome: { outcome: "selected" } }, GRANTED],
  ["granted", { granted: true }, GRANTED],
  ["granted with other arguments", { granted: true, args }, { ...GRANTED, args }],
  ["not granted, with a reason", { granted: false, reason: "no" }, { kind: "denied", reason: "no" }],
  // ACP.
  ["an allowing option", { outcome: { outcome: "selected", optionId: "once" } }, GRANTED],
  [
    "an option that allows always",
    { outcome: { outcome: "selected", optionId: "always" } },
    { kind: "granted", option: "allow_always" },
  ],
  ["a rejecting option", { outcome: { outcome: "selected", optionId: "no" } }, DENIED],
  ["an option that rejects always", { outcome: { outcome: "selected", optionId: "never" } }, DENIED],
  ["an option of an unknown kind", { outcome: { outcome: "selected", optionId: "odd" } }, DENIED],
  ["an unknown option", { outcome: { outcome: "selected", optionId: "x" } }, { kind: "not_offered" }],
  ["an option that is no text", { outcome: { outcome: "selected", optionId: 1 } }, { kind: "not_offered" }],
  ["a cancelled request", { outcome: { outcome: "cancelled" } }, { kind: "cancelled" }],
  ["null for the option", { outcome: { outcome: "selected", optionId: null } }, GRANTED],
  // Words alone are no form of the protocol.
  ["the word selected", { outcome: "selected" }, { kind: "nothing" }],
  ["the word allow", { outcome: "allow" }, { kind: "nothing" }],
  ["an outcome of another word", { outcome: { outcome: "allow" } }, { kind: "nothing" }],
  ["the word approved", { outcome: "approved" }, { kind: "nothing" }],
  // Both.
  ["both agree", { granted: true, outcome: { outcome: "selected", optionId: "once" } }, GRANTED],
  [
    "granted with a rejecting option",
    { granted: true, outcome: { outcome: "selected", optionId: "no" } },
    DENIED,
  ],
  ["not granted with an allowing option", { granted: false, outcome: { outcome: "selected" } }, DENIED],
  ["granted with a cancelled outcome", { granted: true, outcome: { outcome: "cancelled" } }, DENIED],
  ["granted with an unknown outcome", { granted: true, outcome: "maybe" }, DENIED],
  ["granted beside null for the outcome", { granted: true, outcome: null }, GRANTED],
  // Arguments.
  ["arguments beside an outcome", { outcome: { outcome: "selected" }, args }, { ...GRANTED, args }],
  ["arguments beside a rejection", { outcome: { outcome: "selected", optionId: "no" }, args }, DENIED],
  ["null for the arguments", { granted: true, args: null }, GRANTED],
  [
    "arguments that are no object",
    { granted: true, args: ["rm"] },
    { kind: "denied", reason: "the rewritten arguments are no object" },
  ],
  // Malformed, and in an envelope.
  ["granted as a text", { granted: "true" }, DENIED],
  ["granted as a number", { granted: 1 }, DENIED],
  ["an empty object", {}, { kind: "nothing" }],
  ["null", null, { kind: "nothing" }],
  ["a text", "granted", { kind: "nothing" }],
  ["a list", [{ granted: true }], { kind: "nothing" }],
  ["an envelope", { result: { granted: true } }, GRANTED],
  ["an envelope that denies beside a grant", { granted: true, result: { granted: false } }, DENIED],
];

test.each(REPLIES)("%s", (_, reply, meant) => expect(readPermissionReply(OPTIONS, reply)).toEqual(meant));

test("a long reason is cut", () => {
  expect(readPermissionReply(OPTIONS, { granted: false, reason: "x".repeat(5_000) })).toEqual({
    kind: "denied",
    reason: "x".repeat(1_000),
  });
});
