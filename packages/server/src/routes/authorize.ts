import type { Audience } from "@reins/api";
import type { Hosting } from "@reins/host";
import { errorMessage } from "@reins/kit";
import type { Harness, Principal } from "@reins/supervisor";
import { HttpProblem } from "../problems.ts";

/** The code of the supervisor. */
export type SupervisorCode = typeof import("@reins/supervisor");

/** The harness with its code, and whoever asks it. */
export interface Authorized {
  readonly harness: Harness;
  readonly supervisor: SupervisorCode;
  readonly principal: Principal;
}

let supervisorCode: SupervisorCode | undefined;

/** Waits for the harness, and finds whoever asks in it. */
export async function authorize(open: () => Promise<Harness>, id: string): Promise<Authorized> {
  let harness: Harness;
  try {
    harness = await open();
  } catch (error) {
    throw new HttpProblem("unavailable", textOf(error), { cause: error });
  }
  // To ask for what is loaded takes a while, too.
  supervisorCode ??= await import("@reins/supervisor");
  const supervisor = supervisorCode;
  let principal: Principal | undefined;
  try {
    principal = await harness.identity.current({ id });
  } catch (error) {
    throw toHttpProblem(supervisor, error);
  }
  if (principal) return { harness, supervisor, principal };
  throw new HttpProblem("unauthenticated", "the token was revoked or has expired");
}

/** Does something, and turns what the supervisor refuses into what whoever asked is told. */
export async function mapErrors<Result>(
  supervisor: SupervisorCode,
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    throw toHttpProblem(supervisor, error);
  }
}

/** What whoever asked is told about an error. */
export function toHttpProblem({ problemOf }: SupervisorCode, error: unknown): HttpProblem {
  if (error instanceof HttpProblem) return error;
  const { errors, ...found } = problemOf(error);
  return new HttpProblem({ ...found, ...(errors && { errors: [...errors] }) }, "", { cause: error });
}

/** Refuses whoever does not belong to an audience. */
export function requireAudience(audience: Audience, governed: Authorized): void {
  const why = whyNot(audience, governed);
  if (why !== undefined) throw new HttpProblem("forbidden", why);
}

/** Whoever asked, as they are now; nothing when they could not ask again. */
export async function currentPrincipal(
  audience: Audience,
  { harness, supervisor, principal }: Authorized,
): Promise<Principal | undefined> {
  const now = await harness.identity.current(principal);
  if (now?.tenant !== principal.tenant) return undefined;
  return whyNot(audience, { principal: now, supervisor }) === undefined ? now : undefined;
}

function whyNot(
  audience: Audience,
  { principal, supervisor }: Pick<Authorized, "principal" | "supervisor">,
): string | undefined {
  if (principal.kind === "agent" && (audience === "person" || audience === "admin"))
    return "an agent may not ask for this; a person has to";
  if (audience === "admin" && !supervisor.isAdmin(principal))
    return `${principal.user} may not do that: it takes the role "admin"`;
  return undefined;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Waits until agents can be run; refuses with the reason where they cannot. */
export async function requireHosting(open: () => Promise<Hosting>): Promise<Hosting> {
  try {
    return await open();
  } catch (error) {
    throw new HttpProblem("unavailable", errorMessage(error), {
      cause: error,
    });
  }
}

/** Refuses whoever does not belong to the tenant that looks after the harness itself. */
export function requireDefaultTenant({ user, tenant }: Principal, why: string): void {
  if (tenant === "default") return;
  throw new HttpProblem(
    "forbidden",
    `${user} may not do that: ${why}, so it takes an admin of the default tenant`,
  );
}
