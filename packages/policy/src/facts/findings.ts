import type { FileFilter } from "./file-filter.ts";
import type { Shown } from "./git/shown.ts";
import type { Search } from "./path/credentials.ts";

/** A path as an action gives it, before the file system is asked. */
export interface Target {
  /** `null` when it is only known at run time. */
  readonly text: string | null;
  /** How it starts, as far as that is known of one that is only known at run time. */
  readonly start?: string | undefined;
  /** The glob it stands for, `text` being what is left of it when nothing matches. */
  readonly pattern?: string | undefined;
  /** The folders it may be relative to; `undefined` when they are not known. */
  readonly base: readonly string[] | undefined;
  /** Whether `~`, `file:` and the like have no meaning in it any more: a shell has seen to that. */
  readonly isLiteral?: boolean | undefined;
  /** Whether it counts only if it is there. */
  readonly ifExists?: boolean | undefined;
  /** Whether it may be no path at all: it counts if it is there, or if it is guarded. */
  readonly isGuess?: boolean | undefined;
  /** Whether a match that starts with `-` would be taken for an option. */
  readonly mayBeOption?: boolean | undefined;
}

/** Whether what was there is gone: always, if there was something, or never. */
export type Destroys = "always" | "existing" | "never";

/** How far below its path something reaches. */
export interface Reach {
  /** Whether what lies below is touched too. */
  readonly deep: boolean;
  /** Of that, only names are looked at, or only some of it is touched. */
  readonly only?: "names" | "some" | undefined;
  /** What is looked for below, where links among it lead on. */
  readonly search?: Search | undefined;
  /** Which files are read of what lies below, where that is to be looked at. */
  readonly filter?: FileFilter | undefined;
}

/** Files that choose which program runs under a name. */
export interface Obeyed {
  readonly names: readonly string[];
  /** They are looked for in these folders and above; `undefined` when those are not known. */
  readonly folders: readonly string[] | undefined;
}

/** What an action is found to do, before the file system is asked where its paths lead. */
export type Finding =
  | ({ readonly kind: "read"; readonly target: Target } & Reach)
  | ({
      readonly kind: "write";
      readonly target: Target;
      readonly destroys: Destroys;
      /** Said where what was there goes on, edited or under another name. */
      readonly keeps?: boolean | undefined;
      /** Whether a link at the target is itself what is written, and not what it leads to. */
      readonly onLink?: boolean | undefined;
      /** Whether a folder that is there could not be used any more. */
      readonly barsFolders?: boolean | undefined;
      /** What arrives there: under its own name if the target is a folder, and below it only where it is one itself. */
      readonly from?: readonly Target[] | undefined;
    } & Reach)
  | {
      readonly kind: "exec";
      readonly command: string;
      readonly arguments: readonly (string | null)[];
      readonly opaque: boolean;
      /** The folders whose git repository may name programs that this command runs. */
      readonly repository?: readonly string[] | undefined;
      /** Whether git runs that repository's hooks, too. */
      readonly hooks?: boolean | undefined;
      readonly obeys?: Obeyed | undefined;
    }
  /** Content that git keeps is shown: of the paths that fit a glob, or of all without one. */
  | { readonly kind: "tracked"; readonly target: Target; readonly glob?: string | undefined }
  /** What git kept earlier is shown, in the repository around the target. */
  | { readonly kind: "shown"; readonly target: Target; readonly shown: Shown }
  /** What git keeps under a hash is shown. */
  | { readonly kind: "object"; readonly target: Target; readonly hash: string }
  /** Of what lies below a folder, the files that fit a glob are read. */
  | { readonly kind: "only"; readonly target: Target; readonly glob: string }
  | { readonly kind: "net"; readonly host: string; readonly looks?: boolean | undefined };

/** More than any honest action has. */
const FINDING_LIMIT = 512;

/** Collects what an action is found to do, and every doubt on the way. */
export class Findings {
  readonly #found: Finding[] = [];
  readonly #doubts = new Set<string>();
  #opaque = false;
  /** Whether something prints without end, and nothing stops it. */
  isEndless = false;
  /** Whether something may go round very often; that matters where it writes. */
  isLong = false;
  #unaccounted = false;

  get found(): readonly Finding[] {
    return this.#found;
  }

  get doubts(): readonly string[] {
    return [...this.#doubts];
  }

  get opaque(): boolean {
    return this.#opaque;
  }

  /** Whether it may do more than is found for another reason than what its programs do. */
  get unaccounted(): boolean {
    return this.#unaccounted;
  }

  get isFull(): boolean {
    return this.#found.length >= FINDING_LIMIT;
  }

  add(finding: Finding): void {
    if (this.isFull) this.hide("the action does too many things to list");
    else this.#found.push(finding);
  }

  /** Puts a finding before those that were made since. */
  insert(at: number, finding: Finding): void {
    if (this.isFull) this.hide("the action does too many things to list");
    else this.#found.splice(at, 0, finding);
  }

  /** Something could not be found out. */
  doubt(why: string): void {
    this.#doubts.add(why);
  }

  /** The action may do more than is found, for a reason that lies in no program. */
  hide(why: string): void {
    this.#unaccounted = true;
    this.hideIn(why);
  }

  /** A program that the action names may do more than is found. */
  hideIn(why: string): void {
    this.#opaque = true;
    this.#doubts.add(why);
  }
}
