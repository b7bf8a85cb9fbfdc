export interface Finding {
  readonly check: string;
  readonly state: "fine" | "note" | "wrong";
  /** A sentence without its full stop. */
  readonly found: string;
  readonly mend?: string | undefined;
}

export interface CheckContext {
  readonly home: string;
  readonly environment: NodeJS.ProcessEnv;
  /** The user's home folder. */
  readonly userHome: string;
}

/** An error that a check throws becomes a finding. */
export interface Check {
  readonly name: string;
  run(context: CheckContext): Promise<readonly Omit<Finding, "check">[]>;
}

export function fine(found: string): Omit<Finding, "check"> {
  return { state: "fine", found };
}

export function note(found: string, mend?: string): Omit<Finding, "check"> {
  return { state: "note", found, mend };
}

export function wrong(found: string, mend: string): Omit<Finding, "check"> {
  return { state: "wrong", found, mend };
}
