/** What a check found: fine, worth knowing, or to be mended. */
export interface Finding {
  readonly check: string;
  readonly state: "fine" | "note" | "wrong";
  /** What is the case, as a sentence without its end. */
  readonly found: string;
  /** What to do about it. */
  readonly mend?: string | undefined;
}

/** What checks look at. */
export interface CheckContext {
  readonly home: string;
  readonly environment: NodeJS.ProcessEnv;
  /** The user's home. */
  readonly userHome: string;
}

/** Looks at one thing. What it throws is told as a finding. */
export interface Check {
  readonly name: string;
  look(patient: CheckContext): Promise<readonly Omit<Finding, "check">[]>;
}

/** Nothing is wrong with it. */
export function fine(found: string): Omit<Finding, "check"> {
  return { state: "fine", found };
}

/** Nothing is broken, but somebody should know. */
export function note(found: string, mend?: string): Omit<Finding, "check"> {
  return { state: "note", found, mend };
}

/** It does not work as it is. */
export function wrong(found: string, mend: string): Omit<Finding, "check"> {
  return { state: "wrong", found, mend };
}
