/** What a program is after: things of the machine that are not to be had from inside a sandbox. */
export interface Targets {
  /** The folder it may work in. */
  readonly workspace: string;
  /** Reins' own home, and a secret in it. */
  readonly reins: string;
  /** A key in the user's home. */
  readonly key: string;
  /** A file outside that can be seen, and must not be changed. */
  readonly outside: string;
  /** What all secrets hold. */
  readonly canary: string;
  /** A process of the machine, which has the canary in its environment. */
  readonly pid: number;
  /** A port of the machine's loopback, for TCP and UDP. */
  readonly port: number;
  /** An abstract socket of the machine. */
  readonly abstract: string;
  /** A socket in Reins' home. */
  readonly socket: string;
  /** A file in shared memory. */
  readonly shared: string;
  /** Whether to try everything, because a sandbox prevents it. */
  readonly confined: boolean;
  /** Whether a proxy leads out; not to that port. */
  readonly proxied: boolean;
  /** How often a race is run. */
  readonly rounds: number;
}

/** What became of an attempt. */
export interface Attempt {
  readonly name: string;
  /** What was got, if anything was. */
  readonly gained?: string;
  /** Why it could not even be tried. */
  readonly untried?: string;
}
