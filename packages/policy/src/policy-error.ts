/** A place in a file, counted from 1. */
export interface FilePlace {
  readonly line: number;
  readonly column: number;
}

/** What is wrong with a constitution, and where. */
export interface PolicyFault {
  readonly message: string;
  readonly place: FilePlace | undefined;
}

/** A constitution that cannot be used. The one in force stays. */
export class PolicyError extends Error {
  override readonly name = "PolicyError";
  readonly code = "invalid_policy";
  readonly faults: readonly PolicyFault[];

  constructor(file: string, faults: readonly PolicyFault[]) {
    const lines = faults.map(({ message, place }) =>
      place ? `${file}:${place.line}:${place.column}: ${message}` : `${file}: ${message}`,
    );
    super(lines.join("\n"));
    this.faults = faults;
  }
}
