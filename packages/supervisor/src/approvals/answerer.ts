import { SupervisorError } from "../supervisor-error.ts";
import type { Approval } from "./approval.ts";

/** Somebody who wants to answer, as the harness knows them. */
export interface Answerer {
  readonly by: string;
  readonly tenant: string;
  /** Whether the token is an agent's. */
  readonly isAgent?: boolean | undefined;
}

/** Names of the harness itself; nobody answers under one. */
const RESERVED = "reins:";

/** Refuses everybody but a person; an agent has no say, least of all about itself. */
export function expectPerson({ by, isAgent }: Answerer, approval: Approval | undefined): void {
  if (isAgent || by === approval?.agent || approval?.chain.includes(by))
    throw new SupervisorError("forbidden", "an agent does not answer approvals; a person has to");
  if (by === "" || by.startsWith(RESERVED))
    throw new SupervisorError("forbidden", `"${by}" is not a person who could answer`);
}
