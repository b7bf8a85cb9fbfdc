/** What a check found. */
export interface Finding {
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
export type Check = (context: CheckContext) => Promise<readonly Finding[]>;

export function fine(found: string): Finding {
  return { state: "fine", found };
}

export function note(found: string, mend?: string): Finding {
  return { state: "note", found, mend };
}

export function wrong(found: string, mend: string): Finding {
  return { state: "wrong", found, mend };
}
