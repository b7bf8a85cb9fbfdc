import { SupervisorError } from "../supervisor-error.ts";
import { isAdmin, isOperator, type Principal } from "./principal.ts";
import { covers } from "./scopes.ts";

/** Refuses whoever may not change or list identity. */
export function expectAdmin(by: Principal): void {
  if (isAdmin(by)) return;
  const why = by.kind === "agent" ? "an agent never may" : 'that takes the role "admin"';
  throw new SupervisorError("forbidden", `${by.user} may not change or list identity: ${why}`);
}

/** The tenant somebody asks about. To all but the operator there is no tenant but their own. */
export function tenantFor(by: Principal, asked: string | undefined): string {
  if (asked === undefined || asked === by.tenant) return by.tenant;
  if (isOperator(by)) return asked;
  throw new SupervisorError("not_found", `there is no tenant "${asked}"`);
}

/** Refuses to let anybody but the operator hand out what they do not hold themselves. */
export function expectHeld(by: Principal, what: "scopes" | "agents", wanted: readonly string[]): void {
  if (isOperator(by) || covers(by[what], wanted)) return;
  const missing = wanted.filter((name) => !by[what].includes(name)).join(", ");
  throw new SupervisorError("forbidden", `${by.user} cannot give away ${what} it does not have: ${missing}`);
}
