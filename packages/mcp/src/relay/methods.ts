import { errorMessage } from "@reins/kit";
import { toNearlyPlain, toPlain } from "../wire/exact-json.ts";
import { type Message, objectIn } from "../wire/message.ts";

/** Requests of an agent that keep a connection alive or are governed where they are handled. */
const AGENT_REQUESTS = new Set(["initialize", "ping", "server/discover", "tools/list", "tools/call"]);

/** Notifications of an agent that belong to the protocol's own bookkeeping. */
const AGENT_NOTIFICATIONS = new Set([
  "notifications/initialized",
  "notifications/cancelled",
  "notifications/progress",
  "notifications/roots/list_changed",
]);

/** Requests of a server that belong to the protocol's own bookkeeping. */
const SERVER_REQUESTS = new Set(["ping"]);

/** The other methods of the revisions of the specification; each is decided. */
const DECIDED = [
  "completion/complete",
  "elicitation/create",
  "logging/setLevel",
  "messages/listen",
  "notifications/elicitation/complete",
  "notifications/message",
  "notifications/prompts/list_changed",
  "notifications/resources/list_changed",
  "notifications/resources/updated",
  "notifications/subscriptions/acknowledged",
  "notifications/tasks/status",
  "notifications/tools/list_changed",
  "prompts/get",
  "prompts/list",
  "resources/list",
  "resources/read",
  "resources/subscribe",
  "resources/templates/list",
  "resources/unsubscribe",
  "roots/list",
  "sampling/createMessage",
  "subscriptions/listen",
  "tasks/cancel",
  "tasks/get",
  "tasks/list",
  "tasks/result",
  "tasks/update",
];

/** Every method of the specification, by how it looks when case and blanks do not count. */
const KNOWN = new Map(
  [...AGENT_REQUESTS, ...AGENT_NOTIFICATIONS, ...SERVER_REQUESTS, ...DECIDED].map((method) => [
    folded(method),
    method,
  ]),
);

/** Who sent a message, and whether an answer is waited for. */
export type Sender = "agent request" | "agent notification" | "server request";

const HOUSEKEEPING: Readonly<Record<Sender, ReadonlySet<string>>> = {
  "agent request": AGENT_REQUESTS,
  "agent notification": AGENT_NOTIFICATIONS,
  "server request": SERVER_REQUESTS,
};

/** Whether a message passes without a verdict of its own: bookkeeping of the protocol, spelled exactly. */
export function isHousekeeping(method: unknown, sender: Sender): boolean {
  return typeof method === "string" && HOUSEKEEPING[sender].has(method);
}

/**
 * Why a method cannot be decided, if so. A server that does not mind case would take `tools/Call` for `tools/call`, past
 * every rule that names the tool.
 */
export function methodFault(method: string): string | undefined {
  const meant = KNOWN.get(folded(method));
  if (meant === undefined || meant === method) return undefined;
  return `${JSON.stringify(method.slice(0, 80))} is not how ${meant} is written`;
}

function folded(method: string): string {
  return method
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^a-z/]/g, "");
}

/** What a message asks for, as far as it can be decided about. */
export interface ReadParams {
  readonly arguments: unknown;
  readonly undecidable?: string;
}

/** The parameters of a message as a gate sees them: all but what the protocol itself puts into `_meta`. */
export function readParams(message: Message): ReadParams {
  const { params = {} } = message;
  const meta = objectIn(params, "_meta");
  const own = Object.entries(meta ?? {}).filter(([name]) => !isProtocolMeta(name));
  const { _meta, ...others } = objectIn(message, "params") ?? {};
  const given = meta ? { ...others, ...(own.length > 0 && { _meta: Object.fromEntries(own) }) } : params;
  try {
    return { arguments: toPlain(given) };
  } catch (error) {
    return { arguments: toNearlyPlain(given), undecidable: errorMessage(error) };
  }
}

function isProtocolMeta(name: string): boolean {
  return name === "progressToken" || name.startsWith("io.modelcontextprotocol/");
}
