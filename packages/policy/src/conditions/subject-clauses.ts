import type { PlainCondition } from "../constitution/condition.ts";
import type { ToolDeclarations } from "../constitution/constitution.ts";
import type { Subject } from "../subject.ts";
import type { Clause } from "./effect-clauses.ts";
import { textTest } from "./pattern.ts";

/** What clients ask of an agent, by the protocol's names. A tool that an agent calls so is something else. */
const CLIENTS_NAME = /^(?:session|providers)\/|^(?:initialize|authenticate|logout)$/;

/**
 * The clauses about who asks, for what tool, and how.
 *
 * @param permits whether the condition allows: then a name that belongs to clients holds for them alone
 */
export function subjectClauses(
  condition: PlainCondition,
  tools: ToolDeclarations,
  permits: boolean,
): Clause[] {
  const clauses: Clause[] = [];
  const text = (
    name: string,
    patterns: string | readonly string[] | undefined,
    of: (subject: Subject) => string,
  ) => {
    if (patterns === undefined) return;
    const test = textTest(patterns);
    clauses.push({ name, subjectOnly: true, holds: ({ subject }) => test(of(subject)) });
  };
  text("agent_trust", condition.agent_trust, ({ trust }) => trust);
  text("agent", condition.agent, ({ agent }) => agent);
  text("user", condition.user, ({ user }) => user);
  text("tenant", condition.tenant, ({ tenant }) => tenant);
  text("session", condition.session, ({ session }) => session);
  text("mode", condition.mode, ({ mode }) => mode);
  text("started", condition.started, ({ started }) => started);
  text("enforcement", condition.enforcement, ({ enforcement }) => enforcement);
  text("network", condition.network, ({ network = "open" }) => network);
  text("origin", condition.origin, ({ origin = "agent" }) => origin);
  const { tool_name_matches, event, role, scopes, depth, sensitivity, lacks_scopes } = condition;
  if (tool_name_matches) {
    const test = textTest(tool_name_matches);
    clauses.push({
      name: "tool_name_matches",
      holds: ({ action, subject }) =>
        test(action.tool) && !(permits && subject.origin !== "client" && CLIENTS_NAME.test(action.tool)),
    });
  }
  if (event !== undefined) {
    const test = textTest(event);
    clauses.push({ name: "event", holds: ({ event_type }) => test(event_type) });
  }
  if (role !== undefined) {
    const test = textTest(role);
    clauses.push({ name: "role", subjectOnly: true, holds: ({ subject }) => subject.roles.some(test) });
  }
  if (scopes)
    clauses.push({ name: "scopes", subjectOnly: true, holds: ({ subject }) => hasScopes(subject, scopes) });
  if (depth) {
    const { at_least = 0, at_most = Number.POSITIVE_INFINITY } = depth;
    clauses.push({
      name: "depth",
      subjectOnly: true,
      holds: ({ subject }) => subject.depth >= at_least && subject.depth <= at_most,
    });
  }
  if (sensitivity !== undefined) {
    const test = textTest(sensitivity);
    clauses.push({ name: "sensitivity", holds: ({ action }) => test(tools[action.tool]?.sensitivity ?? "") });
  }
  if (lacks_scopes !== undefined) {
    const lacks = (subject: Subject, tool: string) => !hasScopes(subject, tools[tool]?.scopes ?? []);
    clauses.push({
      name: "lacks_scopes",
      holds: ({ subject, action }) => lacks(subject, action.tool) === lacks_scopes,
    });
  }
  return clauses;
}

function hasScopes({ scopes }: Subject, needed: readonly string[]): boolean {
  return needed.every((scope) => scopes.includes(scope) || scopes.includes("*"));
}

type TimeCondition = NonNullable<PlainCondition["time"]>;

/** Holds at certain times of day on certain days, in a time zone. A span may pass midnight. */
export function timeClause({ from = "00:00", until = "24:00", days, zone = "UTC" }: TimeCondition): Clause {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    weekday: "short",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  const allowed = days && new Set<string>(days);
  return {
    name: "time",
    holds({ at }) {
      const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
      const day = parts.get("weekday")?.toLowerCase().slice(0, 3) ?? "";
      const time = `${parts.get("hour")}:${parts.get("minute")}`;
      const within = from <= until ? time >= from && time < until : time >= from || time < until;
      return within && (allowed?.has(day) ?? true);
    },
  };
}
