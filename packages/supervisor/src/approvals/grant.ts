import type { Effect, Enforcement } from "@reins/policy";

/** A standing permission that people gave by saying "always": for exactly the same thing, or commands that begin the same, in any session. */
export interface Grant {
  readonly id: string;
  readonly tenant: string;
  readonly user: string;
  readonly agent: string;
  readonly chain: readonly string[];
  readonly enforcement: Enforcement;
  readonly event_type: string;
  readonly tool: string;
  readonly effects: readonly Effect[];
  readonly cwd: string;
  /** What the files were that it depends on; it lapses when one of them changes. */
  readonly input_state?: Readonly<Record<string, string>>;
  /** The beginning of the commands that it covers, whatever follows in the same folder; absent where it is for one. */
  readonly prefix?: readonly string[];
  /** The arguments it is bound to; absent where the effects say all. */
  readonly arguments?: unknown;
  /** What it counts for: 64 hexadecimal digits. */
  readonly binding: string;
  /** The roles that may revoke it beside its user, where the rule named those that may give it. */
  readonly approvers?: readonly string[];
  /** The approval it came from, and who gave it. */
  readonly approval: string;
  readonly by: readonly string[];
  readonly created_at: string;
  /** When it ends by itself, if it does. */
  readonly expires_at?: string;
  readonly revoked_at?: string;
  /** Who took it back; nobody did when it ran out and another took its place. */
  readonly revoked_by?: string;
  /** How often it was used. */
  readonly uses: number;
  readonly used_at?: string;
  /** Why what it covers cannot be shown exactly any more, where that is so; it does not count then. */
  readonly unreadable?: string;
}

/** Whether a grant counts at an instant. */
export function isInForce({ revoked_at, expires_at, unreadable }: Grant, now: Date): boolean {
  if (revoked_at !== undefined || unreadable !== undefined) return false;
  return expires_at === undefined || Date.parse(expires_at) > now.getTime();
}
