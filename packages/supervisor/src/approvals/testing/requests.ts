import type { Action, Effect, Subject } from "@reins/policy";
import type { ApprovalRequest } from "../request.ts";

/** A subject, with what differs. */
export function subjectOf(own: Partial<Subject> = {}): Subject {
  return {
    user: "ann",
    tenant: "acme",
    roles: ["member"],
    scopes: ["work"],
    agent: "reed",
    trust: "registered",
    session: "s1",
    started: "interactive",
    chain: [],
    depth: 0,
    mode: "default",
    enforcement: "asked",
    ...own,
  };
}

/** An action that writes a file, with what differs. */
export function actionOf(own: Partial<Action> = {}): Action {
  const write: Effect = {
    kind: "write",
    path: "/w/a.txt",
    place: "workspace",
    inside: "a.txt",
    destroys: false,
  };
  return {
    tool: "edit",
    effects: [write],
    opaque: false,
    doubts: [],
    claims: {},
    arguments: { path: "a.txt" },
    ...own,
  };
}

/** A question, with what differs. */
export function requestOf(own: Partial<ApprovalRequest> = {}): ApprovalRequest {
  return {
    subject: subjectOf(),
    event_type: "pre_action",
    facts: actionOf(),
    cwd: "/w",
    target_state: { "/w/a.txt": "absent" },
    rule: "ask about edits",
    reason: "edits are asked about",
    ...own,
  };
}

/** A question about writing one file; different files are different questions. */
export function requestFor(path: string, own: Partial<ApprovalRequest> = {}): ApprovalRequest {
  const effect: Effect = { kind: "write", path, place: "workspace", destroys: false };
  return requestOf({ facts: actionOf({ effects: [effect], arguments: { path } }), target_state: {}, ...own });
}
