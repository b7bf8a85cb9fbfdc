import { basename } from "node:path";
import { isRecord } from "@reins/kit";
import type { LedgerEntry, PlacedEntry } from "@reins/ledger";

/** The version of OCSF that events are written in. */
export const OCSF_VERSION = "1.5.0";

/** What an event says beside its entry. */
export interface OcsfContext {
  /** The version of Reins. */
  readonly version: string;
  readonly hostname: string;
  /** The entry of the verdict that an action refers to, which has its effects. */
  readonly verdict?: LedgerEntry | undefined;
}

type Members = Readonly<Record<string, unknown>>;

/** The classes in use, by their id. */
const CLASSES = {
  1001: "File System Activity",
  1007: "Process Activity",
  2004: "Detection Finding",
  3001: "Account Change",
  3003: "Authorize Session",
  3004: "Entity Management",
  6002: "Application Lifecycle",
  6003: "API Activity",
} as const;

const CATEGORIES: Readonly<Record<number, string>> = {
  1: "System Activity",
  2: "Findings",
  3: "Identity & Access Management",
  6: "Application Activity",
};

type Activity = readonly [id: number, name: string];
const OTHER = 99;
const SEVERITY = { informational: 1, medium: 3, high: 4 } as const;
const STATUS = { unknown: 0, success: 1, failure: 2, other: OTHER } as const;
const MOST_RESOURCES = 32;
const LONGEST_TEXT = 1_000;

/** What a mapping decides; the rest is the same for every event. */
interface Mapped {
  readonly class: keyof typeof CLASSES;
  readonly activity: Activity;
  readonly severity?: keyof typeof SEVERITY;
  readonly status?: keyof typeof STATUS;
  /** What the status is called, where it has another name. */
  readonly statusText?: string | undefined;
  readonly profiles?: readonly string[];
  readonly members: Members;
}

/** Maps an entry of the ledger to an OCSF event. Its id is the entry's content id, its sequence the place in the ledger. */
export function ocsfEvent({ seq, entry }: PlacedEntry, context: OcsfContext): Members {
  const mapped = MAPPINGS[entry.quality](entry, payloadOf(entry), context);
  const [activity_id, activity_name] = mapped.activity;
  const category = Math.floor(mapped.class / 1_000);
  const severity = mapped.severity ?? "informational";
  const status = mapped.status ?? "success";
  const session = sessionOf(entry);
  return {
    ...{ activity_id, activity_name },
    ...{ category_uid: category, category_name: CATEGORIES[category] },
    ...{ class_uid: mapped.class, class_name: CLASSES[mapped.class] },
    ...{ type_uid: mapped.class * 100 + activity_id, time: Date.parse(entry.timestamp) },
    ...{ severity_id: SEVERITY[severity], severity: capitalized(severity) },
    ...{ status_id: STATUS[status], status: mapped.statusText ?? capitalized(status) },
    ...mapped.members,
    metadata: {
      version: OCSF_VERSION,
      product: { name: "Reins", vendor_name: "Reins", version: context.version },
      ...{ uid: entry.cid, sequence: seq },
      ...{ event_code: entry.quality, log_name: "ledger", original_time: entry.timestamp },
      ...{ profiles: mapped.profiles ?? [], tenant_uid: tenantOf(entry) },
      ...(session !== undefined && { correlation_uid: session }),
    },
    unmapped: { entity_id: entry.entity_id, tags: entry.tags, parents: entry.parents, ...kept(entry) },
  };
}

type Mapping = (entry: LedgerEntry, payload: Members, context: OcsfContext) => Mapped;

const MAPPINGS: Readonly<Record<LedgerEntry["quality"], Mapping>> = {
  policy_verdict: (entry, payload, context) =>
    payload.verdict === "blocked" ? finding(entry, payload, context) : decision(entry, payload, context),
  tool_call: (entry, _, context) => execution(entry, "begun", context),
  tool_result: (entry, payload, context) => execution(entry, String(payload.outcome), context),
  turn: (entry, payload, context) => ({
    class: 6003,
    activity: [OTHER, "Turn"],
    ...(FAILED_TURNS.has(String(payload.stop_reason)) && ({ status: "failure" } as const)),
    statusText: textOf(payload.stop_reason),
    members: {
      ...call(entry, "session/prompt", context),
      ...{ start_time: momentOf(payload.started_at), end_time: momentOf(payload.completed_at) },
    },
  }),
  mailbox_inject: (entry, _, context) => ({
    class: 6003,
    activity: [1, "Create"],
    members: call(entry, "mailbox/inject", context),
  }),
  session_lifecycle: (entry, payload) => {
    const change = textOf(payload.change ?? payload.event) ?? "changed";
    return {
      class: 6002,
      activity: lifecycle(change),
      ...(change === "loss" && ({ severity: "high", status: "failure" } as const)),
      members: { app: { name: entry.actor, vendor_name: "Reins", uid: entry.target }, actor: actorOf(entry) },
    };
  },
  approval: (entry, payload) => ({
    class: 3003,
    activity: payload.state === "approved" ? [1, "Assign Privileges"] : [OTHER, `Approval ${payload.state}`],
    status: APPROVAL_STATUS.get(String(payload.state)) ?? "other",
    statusText: textOf(payload.state),
    members: {
      actor: actorOf(entry),
      user: { name: textOf(payload.user) ?? entry.entity_id, type_id: 0 },
      privileges: [entry.target],
      session: { uid: sessionOf(entry) ?? entry.entity_id },
    },
  }),
  policy_change: (entry, payload) => {
    const change = textOf(payload.change) ?? "changed";
    if (entry.tags.includes("identity"))
      return {
        class: 3001,
        activity: ACCOUNT_CHANGES.get(change) ?? [OTHER, change],
        members: { actor: actorOf(entry), user: { name: entry.target, type_id: 0 } },
      };
    const activity: Activity = entry.tags.includes("key") ? [1, "Create"] : [3, "Update"];
    const entity = { name: entry.target, type: change };
    return { class: 3004, activity, members: { actor: actorOf(entry), entity } };
  },
  kill: (entry, payload) => ({
    class: 6002,
    activity: [4, "Stop"],
    severity: "high",
    members: {
      app: { name: entry.target, vendor_name: "Reins" },
      actor: actorOf(entry),
      message: textOf(payload.reason),
    },
  }),
};

const FAILED_TURNS: ReadonlySet<string> = new Set(["error", "interrupted", "refusal"]);
const APPROVAL_STATUS: ReadonlyMap<string, keyof typeof STATUS> = new Map([
  ["approved", "success"],
  ["denied", "failure"],
]);
const ACCOUNT_CHANGES: ReadonlyMap<string, Activity> = new Map([
  ["user_added", [1, "Create"]],
  ["user_removed", [6, "Delete"]],
]);

/** What a verdict is for the profile of security controls. */
const DISPOSITIONS: Readonly<Record<string, readonly [action: number, disposition: number, name: string]>> = {
  allowed: [1, 1, "Allowed"],
  modify: [1, 11, "Corrected"],
  ask: [0, 14, "Delayed"],
  defer: [0, 14, "Delayed"],
  blocked: [2, 2, "Blocked"],
};

function controlOf(payload: Members): Members {
  const [action_id, disposition_id, disposition] = DISPOSITIONS[String(payload.verdict)] ?? [0, 0, "Unknown"];
  const rule = textOf(payload.rule);
  const policy = { name: rule ?? "no rule", uid: textOf(payload.rules_hash) };
  return { action_id, disposition_id, disposition, policy };
}

function decision(entry: LedgerEntry, payload: Members, context: OcsfContext): Mapped {
  const isFinal = payload.verdict === "allowed" || payload.verdict === "modify";
  return {
    class: 6003,
    activity: activityOf(effectsIn(entry)),
    status: isFinal ? "success" : "other",
    statusText: textOf(payload.verdict),
    profiles: ["security_control"],
    members: {
      ...call(entry, entry.target, context),
      ...controlOf(payload),
      ...{ resources: resourcesOf(effectsIn(entry)), message: textOf(payload.reason) },
    },
  };
}

function finding(entry: LedgerEntry, payload: Members, context: OcsfContext): Mapped {
  const rule = textOf(payload.rule);
  const { api, actor } = call(entry, entry.target, context);
  return {
    class: 2004,
    activity: [1, "Create"],
    severity: "medium",
    // Findings count their states otherwise: the first is new.
    status: "success",
    statusText: "New",
    profiles: ["security_control"],
    members: {
      ...controlOf(payload),
      finding_info: {
        ...{ uid: entry.cid, title: `Blocked: ${entry.target}`, desc: textOf(payload.reason) },
        ...{ created_time: Date.parse(entry.timestamp), types: ["Policy Violation"] },
        ...(rule !== undefined && { analytic: { name: rule, type_id: 1, type: "Rule" } }),
      },
      ...{ is_alert: true, evidences: [{ api, actor }], actor },
      ...{ resources: resourcesOf(effectsIn(entry)), message: textOf(payload.reason) },
    },
  };
}

/** A tool call that begins or has ended, by what its verdict says it does: a process, a file, or a call. */
function execution(entry: LedgerEntry, outcome: string, context: OcsfContext): Mapped {
  const effects = context.verdict ? effectsIn(context.verdict) : [];
  const rest = { status: OUTCOMES.get(outcome) ?? "other", statusText: outcome } as const;
  const device = { hostname: context.hostname, type_id: 0 };
  const actor = actorOf(context.verdict ?? entry);
  const program = effects.find(({ kind }) => kind === "exec");
  if (program)
    return {
      ...{ ...rest, class: 1007 },
      activity: outcome === "begun" ? [1, "Launch"] : [2, "Terminate"],
      members: { device, actor, process: { name: textOf(program.command), cmd_line: commandLine(program) } },
    };
  const file = effects.find(({ kind }) => kind === "write") ?? effects.find(({ kind }) => kind === "read");
  const path = textOf(file?.path);
  if (path === undefined)
    return { ...rest, class: 6003, activity: [OTHER, "Call"], members: call(entry, entry.target, context) };
  return {
    ...{ ...rest, class: 1001, activity: activityOf(effects) },
    members: { device, actor, file: { name: basename(path), path, type_id: 0 } },
  };
}

const OUTCOMES: ReadonlyMap<string, keyof typeof STATUS> = new Map([
  ["completed", "success"],
  ["failed", "failure"],
  ["unknown", "unknown"],
]);

function call(entry: LedgerEntry, operation: string, { hostname }: OcsfContext) {
  return {
    api: { operation, service: { name: "reins" }, request: { uid: entry.cid } },
    actor: actorOf(entry),
    src_endpoint: { hostname, name: entry.actor, type_id: 0 },
  };
}

function actorOf(entry: LedgerEntry): Members {
  const subject = memberOf(payloadOf(entry).subject);
  const user = textOf(subject.user);
  const session = sessionOf(entry);
  return {
    app_name: entry.actor,
    user: { name: user ?? entry.actor, type_id: 0 },
    ...(session !== undefined && { session: { uid: session } }),
  };
}

const STARTS: ReadonlySet<string> = new Set([
  "server_start",
  "session_start",
  "session/load",
  "session/resume",
  "session/fork",
]);
const STOPS: ReadonlySet<string> = new Set(["server_stop", "session_end", "interrupted"]);

function lifecycle(change: string): Activity {
  if (STARTS.has(change)) return [3, "Start"];
  return STOPS.has(change) ? [4, "Stop"] : [OTHER, change];
}

function activityOf(effects: readonly Members[]): Activity {
  const writes = effects.filter(({ kind }) => kind === "write");
  if (writes.length > 0) return [3, "Update"];
  const onlyReads = effects.length > 0 && effects.every(({ kind }) => kind === "read");
  return onlyReads ? [2, "Read"] : [OTHER, "Call"];
}

function resourcesOf(effects: readonly Members[]): readonly Members[] {
  return effects.slice(0, MOST_RESOURCES).map((effect) => ({
    name: textOf(effect.path ?? effect.command ?? effect.host) ?? "unknown",
    type: textOf(effect.kind),
  }));
}

function commandLine({ command, arguments: words }: Members): string {
  const given = Array.isArray(words) ? words.map((word) => String(word ?? "?")) : [];
  return [String(command), ...given].join(" ").slice(0, LONGEST_TEXT);
}

function effectsIn(entry: LedgerEntry): readonly Members[] {
  const { effects } = memberOf(payloadOf(entry).facts);
  return Array.isArray(effects) ? effects.filter(isRecord) : [];
}

/** The members of a payload that OCSF has no place for, as far as they are short. */
function kept(entry: LedgerEntry): Members {
  const payload = payloadOf(entry);
  const names = ["verdict", "enforcement", "event_type", "outcome", "constitution_hash", "rules_hash"];
  const more = ["approval", "turn", "usage", "binding", "change", "payload_commitment"];
  return Object.fromEntries(
    [...names, ...more].flatMap((name) => (payload[name] === undefined ? [] : [[name, payload[name]]])),
  );
}

function payloadOf({ payload }: LedgerEntry): Members {
  return memberOf(payload);
}

function memberOf(value: unknown): Members {
  return isRecord(value) ? value : {};
}

function sessionOf(entry: LedgerEntry): string | undefined {
  const payload = payloadOf(entry);
  return textOf(memberOf(payload.subject).session ?? payload.session);
}

/** The tenant of an entry: what its payload says, else that before the slash in the name of its chain. */
function tenantOf(entry: LedgerEntry): string {
  const payload = payloadOf(entry);
  const said = textOf(memberOf(payload.subject).tenant ?? payload.tenant);
  if (said !== undefined) return said;
  const slash = entry.entity_id.indexOf("/");
  return slash > 0 ? entry.entity_id.slice(0, slash) : "default";
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value.slice(0, LONGEST_TEXT) : undefined;
}

function momentOf(value: unknown): number | undefined {
  const moment = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(moment) ? undefined : moment;
}

function capitalized(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
