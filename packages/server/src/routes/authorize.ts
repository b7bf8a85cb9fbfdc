import type { Audience } from "@reins/api";
import type { Hosting } from "@reins/host";
import { errorMessage } from "@reins/kit";
import { type Harness, isAdmin, type Principal, problemOf } from "@reins/supervisor";
import { HttpProblem } from "../problems.ts";

/** The open harness and the current principal of a caller. */
export interface Authorized {
  readonly harness: Harness;
  readonly principal: Principal;
}

/** Waits for the harness and finds the principal with an id in it. */
export async function authorize(open: () => Promise<Harness>, id: string): Promise<Authorized> {
  const harness = await required(open);
  const principal = await mapErrors(() => harness.identity.current({ id }));
  if (principal) return { harness, principal };
  throw new HttpProblem("unauthenticated", "the token was revoked or has expired");
}

/** Waits until agents can run; fails with the reason where they cannot. */
export function requireHosting(open: () => Promise<Hosting>): Promise<Hosting> {
  return required(open);
}

async function required<Service>(open: () => Promise<Service>): Promise<Service> {
  try {
    return await open();
  } catch (error) {
    throw new HttpProblem("unavailable", errorMessage(error), { cause: error });
  }
}

/** Runs a handler and maps the supervisor's errors to HTTP problems. */
export async function mapErrors<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    throw toHttpProblem(error);
  }
}

/** Maps an error of the supervisor to an HTTP problem. Rethrows any other. */
export function toHttpProblem(error: unknown): HttpProblem {
  if (error instanceof HttpProblem) return error;
  const { errors, ...found } = problemOf(error);
  return new HttpProblem({ ...found, ...(errors && { errors: [...errors] }) }, "", { cause: error });
}

/** Rejects a principal that does not belong to an audience. */
export function requireAudience(audience: Audience, principal: Principal): void {
  const why = exclusion(audience, principal);
  if (why !== undefined) throw new HttpProblem("forbidden", why);
}

/** The principal as it is now; undefined once it may no longer make the call. */
export async function currentPrincipal(
  audience: Audience,
  { harness, principal }: Authorized,
): Promise<Principal | undefined> {
  const now = await harness.identity.current(principal);
  if (now?.tenant !== principal.tenant) return undefined;
  return exclusion(audience, now) === undefined ? now : undefined;
}

/** Rejects a principal outside of the default tenant, which administers the server itself. */
export function requireDefaultTenant({ user, tenant }: Principal, why: string): void {
  if (tenant === "default") return;
  throw new HttpProblem(
    "forbidden",
    `${user} may not do that: ${why}, so it takes an admin of the default tenant`,
  );
}

/** Why a principal does not belong to an audience. */
function exclusion(audience: Audience, principal: Principal): string | undefined {
  if (principal.kind === "agent" && (audience === "person" || audience === "admin"))
    return "an agent may not ask for this; a person has to";
  if (audience === "admin" && !isAdmin(principal))
    return `${principal.user} may not do that: it takes the role "admin"`;
  return undefined;
}
