/** A file as it was found: what it holds, and who else may reach it. */
interface FoundFile {
  readonly bytes: Uint8Array;
  /** The permission bits; `undefined` where the system has none. */
  readonly mode: number | undefined;
  /** Whether it belongs to whoever runs this process; true where the system cannot say. */
  readonly ours: boolean;
}

/** A folder as it was found. */
export type FoundFolder = Omit<FoundFile, "bytes">;

/**
 * The disk as keys and artifacts see it; a test brings its own. Every method fails with the system's error, except that
 * what is not there is `undefined`, `false` or empty.
 */
export interface Disk {
  /** Makes a folder and those above it, for the owner alone, and waits until they are on the disk. */
  makeFolder(path: string): Promise<void>;
  /** Who may reach a folder. */
  folder(path: string): Promise<FoundFolder | undefined>;
  /** What a folder holds, sorted. */
  names(path: string): Promise<readonly string[]>;
  /** Reads a regular file of at most so many bytes, through one descriptor; anything else there is corrupt. */
  read(path: string, most: number): Promise<FoundFile | undefined>;
  /** Whether there is a regular file. */
  has(path: string): Promise<boolean>;
  /** Makes a file, for the owner alone, that must not be there yet, and waits until its bytes are on the disk. */
  create(path: string, bytes: Uint8Array): Promise<void>;
  /** Moves a file over whatever has the other name, in one step. */
  rename(from: string, to: string): Promise<void>;
  /** Removes a file; whether it was there. */
  remove(path: string): Promise<boolean>;
  /** Waits until the names in a folder are on the disk. */
  sync(folder: string): Promise<void>;
}
