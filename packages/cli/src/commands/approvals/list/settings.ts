import type { Approval } from "@reins/api";
import type { OperatorFlags } from "../../../client/connect.ts";
import { CliError } from "../../../errors.ts";
import { wholeNumber } from "../../../flags.ts";
import type { ApprovalFilter } from "../approval-pages.ts";

/** The flags of `reins approvals list` as they were written. */
export interface ListFlags extends OperatorFlags {
  readonly state?: string;
  readonly session?: string;
  readonly limit?: string;
  readonly newest?: boolean;
}

/** Which approvals are to be listed, and how many at most. */
interface ListSettings {
  readonly filter: ApprovalFilter;
  readonly limit: number | undefined;
}

const STATES: Readonly<Record<Approval["state"], true>> = {
  pending: true,
  approved: true,
  denied: true,
  expired: true,
  withdrawn: true,
  used: true,
};

/** Reads the flags; those that wait unless it is said otherwise. */
export function settleList({ state = "pending", session, limit, newest }: ListFlags): ListSettings {
  return {
    filter: {
      state: state === "all" ? undefined : readState(state),
      session,
      order: newest ? "newest" : "oldest",
    },
    limit: limit === undefined ? undefined : wholeNumber(limit, "--limit", 1),
  };
}

function readState(text: string): Approval["state"] {
  if (isState(text)) return text;
  throw new CliError(`--state is "${text}".`, {
    next: `Use one of: ${Object.keys(STATES).join(", ")}, all.`,
  });
}

function isState(text: string): text is Approval["state"] {
  return Object.hasOwn(STATES, text);
}
