/** Where a path lies, seen from the session that touches it. Of several that fit, the first in this list counts. */
export const PLACES = [
  /** Where the path leads could not be found out. */
  "unknown",
  /** The harness's own files: database, keys, constitution. */
  "harness",
  /** Keys, tokens and passwords, wherever they lie. */
  "credentials",
  /** What programs run by themselves later: shell start-up files, hooks, agent settings, CI workflows. */
  "persistence",
  /** One of the session's roots. */
  "workspace",
  /** The session's own folder for passing files, and what it made itself, or would make, in the machine's. */
  "temporary",
  /** What others put into the machine's folders for passing files. */
  "shared",
  /** The rest of the user's home. */
  "home",
  /** The rest of the machine. */
  "system",
] as const;
export type Place = (typeof PLACES)[number];

/** Something an action reads. */
export interface ReadEffect {
  readonly kind: "read";
  /** Absolute, symlinks and `..` resolved, as the file system spells it; as given where that failed. */
  readonly path: string;
  readonly place: Place;
  /** The path from the session's root that holds it; absent outside of all roots. */
  readonly inside?: string;
  /** Said where what lies below the path is touched too, all of it or some that is not named. */
  readonly deep?: true;
  /** Set where the call does not name the path: it is read because it lies below a path that the call names. */
  readonly passing?: true;
}

/** Something an action changes. */
export interface WriteEffect {
  readonly kind: "write";
  readonly path: string;
  readonly place: Place;
  readonly inside?: string;
  readonly deep?: true;
  /** Whether what was there is gone afterwards. */
  readonly destroys: boolean;
  /** Of what is gone, whether git or a build can bring it back; absent where nothing is, or where a tool edits it. */
  readonly recoverable?: boolean;
}

/** A program an action runs. */
export interface ExecEffect {
  readonly kind: "exec";
  /** The program by its plain name: `git`, not `/usr/bin/git`. */
  readonly command: string;
  /** Its words after the name, as far as they are known; `null` stands for one that is computed when it runs. */
  readonly arguments: readonly (string | null)[];
  /** Whether what it does cannot be seen from its words: interpreters, build tools, unknown programs. */
  readonly opaque: boolean;
}

/** A host an action speaks to. */
export interface NetEffect {
  readonly kind: "net";
  /** Lower case, without port; `*` where it could not be found out; `service:name` for one that a program knows the way to. */
  readonly host: string;
  /** Said where it only asks what it shows: a service for its state, or a program that is developed on this machine. */
  readonly looks?: true;
}

/** One thing an action does. */
export type Effect = ReadEffect | WriteEffect | ExecEffect | NetEffect;
export type EffectKind = Effect["kind"];
