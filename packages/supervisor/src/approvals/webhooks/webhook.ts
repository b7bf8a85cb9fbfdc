import { SupervisorError } from "../../errors.ts";

/** An address that is told of every change. */
export interface Webhook {
  /** Known by this across restarts. */
  readonly name: string;
  readonly url: string;
  /** Signs what is sent; at least 16 characters. */
  readonly secret: string;
  /** Whose changes it is told of; without it, everybody's. */
  readonly tenant?: string | undefined;
  /** Whether it is told what is asked, without secrets, and not only that something is. */
  readonly details?: boolean | undefined;
}

const SHORTEST_SECRET = 16;

/** Refuses webhooks that cannot be used. */
export function expectUsable(webhooks: readonly Webhook[]): void {
  const names = new Set<string>();
  for (const { name, url, secret } of webhooks) {
    const fault = faultOf(url, secret) ?? (names.has(name) ? "there are two of that name" : undefined);
    if (fault !== undefined) throw new SupervisorError("invalid", `the webhook "${name}": ${fault}`);
    names.add(name);
  }
}

/** The names of the webhooks that are told about a tenant. */
export function webhooksFor(webhooks: readonly Webhook[], tenant: string): string[] {
  return webhooks
    .filter((webhook) => webhook.tenant === undefined || webhook.tenant === tenant)
    .map(({ name }) => name);
}

function faultOf(url: string, secret: string): string | undefined {
  const parsed = URL.parse(url);
  if (!parsed || (parsed.protocol !== "https:" && parsed.protocol !== "http:"))
    return "its address is not one of http or https";
  if (parsed.username !== "" || parsed.password !== "") return "its address holds a password; sign instead";
  return secret.length < SHORTEST_SECRET
    ? `its secret has fewer than ${SHORTEST_SECRET} characters`
    : undefined;
}
