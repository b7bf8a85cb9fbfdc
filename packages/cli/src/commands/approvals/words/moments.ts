import type { Approval } from "@reins/api";
import { shortSpan } from "../../../operator/length-of-time.ts";

/** A moment as people read it: to the second, in UTC. */
export function moment(time: string): string {
  return time.replace("T", " ").replace(/\.\d+Z$/, "Z");
}

/** How long ago a moment was. */
export function ago(time: string, now: Date): string {
  return `${shortSpan(now.getTime() - Date.parse(time))} ago`;
}

/** How long an approval can still be answered, or used. */
export function left({ expires_at }: Pick<Approval, "expires_at">, now: Date): string {
  const milliseconds = Date.parse(expires_at) - now.getTime();
  return milliseconds > 0 ? `${shortSpan(milliseconds)} left` : "over";
}
