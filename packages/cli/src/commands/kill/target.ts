import type { KillRequest } from "@reins/api";
import { CliError } from "../../errors.ts";

/** How something to be ended may be named. */
export interface KillNames {
  readonly all?: boolean;
  readonly session?: string;
  readonly agent?: string;
  readonly process?: string;
}

/** Ids of sessions are hexadecimal; no agent is called so. */
const SESSION = /^[0-9a-f]{6,64}$/;

/** What is meant: exactly one thing. */
export function targetOf(what: string | undefined, names: KillNames): Omit<KillRequest, "reason"> {
  const { all, session, agent, process } = names;
  const given = [
    ...(what === undefined ? [] : [SESSION.test(what) ? { session: what } : { agent: what }]),
    ...(all ? [{ all: true as const }] : []),
    ...(session === undefined ? [] : [{ session }]),
    ...(agent === undefined ? [] : [{ agent }]),
    ...(process === undefined ? [] : [{ process }]),
  ];
  const [target] = given;
  if (target && given.length === 1) return target;
  throw new CliError(given.length === 0 ? "It is not said what to end." : "More than one thing is named.", {
    next: "Name one: reins kill <session or agent>, or reins kill --all",
  });
}
