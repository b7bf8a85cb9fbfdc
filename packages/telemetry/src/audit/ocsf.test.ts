import type { LedgerEntry } from "@reins/ledger";
import { describe, expect, test } from "vitest";
import { entry, verdict } from "../../test/entries.ts";
import { OCSF_VERSION, ocsfEvent } from "./ocsf.ts";

const context = { version: "9.9.9", hostname: "workshop" };
const EXEC = { kind: "exec", command: "rm", arguments: ["-rf", null], opaque: false };
const WRITE = { kind: "write", path: "/w/a.txt", place: "workspace", destroys: false };
const READ = { kind: "read", path: "/w/b.txt", place: "workspace" };

/** What the classes require beside what every event has. */
const REQUIRED: Readonly<Record<number, readonly string[]>> = {
  1001: ["actor", "device", "file"],
  1007: ["actor", "device", "process"],
  2004: ["finding_info"],
  3001: ["user"],
  3003: ["user", "privileges"],
  3004: ["entity"],
  6002: ["app"],
  6003: ["actor", "api", "src_endpoint"],
};

/** What objects require, by the member that holds one, or a list of them. */
const OF_OBJECTS: Readonly<Record<string, readonly string[]>> = {
  metadata: ["product", "version"],
  product: ["vendor_name"],
  api: ["operation"],
  service: ["name"],
  request: ["uid"],
  file: ["name", "type_id"],
  device: ["type_id"],
  finding_info: ["uid", "title"],
  analytic: ["name", "type_id"],
  app: ["name", "vendor_name"],
  entity: ["name"],
  user: ["name"],
  session: ["uid"],
  policy: ["name"],
  actor: ["app_name", "user"],
  resources: ["name"],
};

/** Members that an object requires and lacks, at any depth. */
function lacking(value: unknown, path = ""): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((one) => lacking(one, path));
  if (typeof value !== "object" || value === null) return [];
  const name = path.split(".").at(-1) ?? "";
  const missing = (OF_OBJECTS[name] ?? []).filter((member) => !Object.hasOwn(value, member));
  return [
    ...missing.map((member) => `${path}.${member}`),
    ...Object.entries(value).flatMap(([member, one]) =>
      path === "" && member === "unmapped" ? [] : lacking(one, `${path}.${member}`),
    ),
  ];
}

const called = (cid: string) => entry("tool_call", { payload: { tool: "Bash", verdict: cid } });
const identity = (change: string) =>
  entry("policy_change", { tags: ["identity"], target: "ann", payload: { change } });

const CASES: readonly (readonly [string, LedgerEntry, number, number, LedgerEntry | undefined])[] = [
  ["an allowed verdict", verdict("allowed", [READ]), 6003, 2, undefined],
  ["a verdict that changes a file", verdict("allowed", [READ, WRITE]), 6003, 3, undefined],
  ["a verdict that asks", verdict("ask", [EXEC]), 6003, 99, undefined],
  ["a blocked verdict", verdict("blocked", [EXEC]), 2004, 1, undefined],
  ["the start of a command", called("c"), 1007, 1, verdict("allowed", [READ, EXEC])],
  [
    "the end of a command",
    entry("tool_result", { payload: { outcome: "failed" } }),
    1007,
    2,
    verdict("allowed", [EXEC]),
  ],
  ["a file that is changed", called("c"), 1001, 3, verdict("allowed", [WRITE])],
  ["a file that is read", called("c"), 1001, 2, verdict("allowed", [READ])],
  ["a call of unknown effect", called("c"), 6003, 99, undefined],
  ["a turn", entry("turn", { payload: { stop_reason: "end_turn" } }), 6003, 99, undefined],
  ["a message", entry("mailbox_inject"), 6003, 1, undefined],
  [
    "the start of a session",
    entry("session_lifecycle", { payload: { change: "session_start" } }),
    6002,
    3,
    undefined,
  ],
  [
    "the end of a session",
    entry("session_lifecycle", { payload: { change: "session_end" } }),
    6002,
    4,
    undefined,
  ],
  [
    "the start of the server",
    entry("session_lifecycle", { payload: { event: "server_start" } }),
    6002,
    3,
    undefined,
  ],
  ["an approval", entry("approval", { payload: { state: "approved", user: "ann" } }), 3003, 1, undefined],
  ["a question", entry("approval", { payload: { state: "pending" } }), 3003, 99, undefined],
  ["a new user", identity("user_added"), 3001, 1, undefined],
  ["a new token", identity("token_created"), 3001, 99, undefined],
  ["a constitution", entry("policy_change", { payload: { change: "constitution" } }), 3004, 3, undefined],
  ["a new key", entry("policy_change", { tags: ["key"] }), 3004, 1, undefined],
  ["a kill", entry("kill", { payload: { reason: "too much" } }), 6002, 4, undefined],
];

describe("the OCSF event", () => {
  test.each(CASES)(
    "of %s has its class, its activity and what they require",
    (_, made, class_uid, activity, of) => {
      const event = ocsfEvent({ seq: 7, entry: made }, { ...context, verdict: of });
      expect(event).toMatchObject({
        class_uid,
        category_uid: Math.floor(class_uid / 1_000),
        activity_id: activity,
        type_uid: class_uid * 100 + activity,
        time: Date.parse(made.timestamp),
        metadata: {
          version: OCSF_VERSION,
          uid: made.cid,
          sequence: 7,
          product: { name: "Reins", version: "9.9.9" },
        },
      });
      expect(event.severity_id).toBeTypeOf("number");
      for (const name of REQUIRED[class_uid] ?? []) expect(event[name], name).toBeDefined();
      // As it is sent, where members without a value are left out.
      expect(lacking(JSON.parse(JSON.stringify(event)))).toEqual([]);
    },
  );

  test("of a blocked verdict is an alert that names the rule, the reason and who was blocked", () => {
    expect(ocsfEvent({ seq: 0, entry: verdict("blocked", [EXEC]) }, context)).toMatchObject({
      ...{ action_id: 2, disposition_id: 2, is_alert: true, severity_id: 3 },
      ...{ status_id: 1, status: "New" },
      finding_info: { title: "Blocked: Bash", desc: "because", analytic: { name: "a_rule" } },
      actor: { app_name: "coder", user: { name: "ann" }, session: { uid: "s1" } },
      metadata: { tenant_uid: "acme", profiles: ["security_control"] },
      resources: [{ name: "rm", type: "exec" }],
      unmapped: { enforcement: "asked", rules_hash: "r1" },
    });
  });

  test("of a command has its words, of which a computed one is unknown", () => {
    const event = ocsfEvent(
      { seq: 0, entry: called("c") },
      { ...context, verdict: verdict("allowed", [EXEC]) },
    );
    expect(event).toMatchObject({
      process: { name: "rm", cmd_line: "rm -rf ?" },
      actor: { user: { name: "ann" } },
    });
  });

  test("of a payload that is no object, or has other members than expected, is still one", () => {
    for (const payload of [null, 5, "x", [], { subject: 1, facts: { effects: [1, null, { kind: 2 }] } }])
      for (const quality of [
        "policy_verdict",
        "tool_call",
        "turn",
        "approval",
        "kill",
        "policy_change",
      ] as const)
        expect(ocsfEvent({ seq: 1, entry: entry(quality, { payload }) }, context).class_uid).toBeTypeOf(
          "number",
        );
  });

  test("of a chain of a tenant names the tenant", () => {
    const event = ocsfEvent({ seq: 1, entry: entry("turn", { entity_id: "acme/coder:ahp:s" }) }, context);
    expect(event).toMatchObject({ metadata: { tenant_uid: "acme" } });
  });
});
