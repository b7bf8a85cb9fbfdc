import { hash } from "node:crypto";
import { join } from "node:path";
import { readCheckpoint } from "@reins/ledger";
import { replaceFile } from "@reins/supervisor/replace-file";
import { CliError } from "../errors/cli-error.ts";
import { textOf } from "../errors/render.ts";
import { EXIT } from "../exit-codes.ts";
import { stateFolder } from "../state-folder.ts";
import { readKept } from "./kept-file.ts";

/** A ledger as it was seen: the key that names it, and its newest checkpoint of then. */
export interface Sighting {
  readonly logKey: string;
  readonly note: string;
}

/**
 * The last checkpoint that this user saw in each home, and the largest of each ledger wherever it was. They are kept
 * apart from the homes, so that a home which is rolled back as a whole is noticed.
 */
export class SeenCheckpoints {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Those of the user who runs this process. */
  static ofUser(environment: NodeJS.ProcessEnv): SeenCheckpoints {
    return new SeenCheckpoints(join(stateFolder(process.platform, environment), "checkpoints"));
  }

  /** The file with the largest checkpoint seen of a ledger. */
  fileOf(logKey: string): string {
    return join(this.#folder, `${nameOf(logKey)}.note`);
  }

  /** The file with what was last seen in a home: the ledger's key on the first line, then the checkpoint. */
  fileOfHome(home: string): string {
    return join(this.#folder, "homes", nameOf(home));
  }

  /** The largest checkpoint seen of a ledger. */
  largest(logKey: string): Promise<string | undefined> {
    return readSeen(this.fileOf(logKey));
  }

  /** What was last seen in a home. */
  async inHome(home: string): Promise<Sighting | undefined> {
    const text = await readSeen(this.fileOfHome(home));
    if (text === undefined) return undefined;
    const end = text.indexOf("\n");
    return { logKey: text.slice(0, end), note: text.slice(end + 1) };
  }

  /** Keeps what is seen in a home. Whoever saw more meanwhile is not overwritten. */
  async keep(home: string, { logKey, note }: Sighting): Promise<void> {
    const here = await this.inHome(home);
    if (here?.logKey !== logKey || isLarger(note, here.note))
      await replaceFile(this.fileOfHome(home), `${logKey}\n${note}`);
    const largest = await this.largest(logKey);
    if (largest === undefined || isLarger(note, largest)) await replaceFile(this.fileOf(logKey), note);
  }

  /** Keeps what is seen in a home in place of whatever was seen before. */
  async replace(home: string, { logKey, note }: Sighting): Promise<void> {
    await replaceFile(this.fileOfHome(home), `${logKey}\n${note}`);
    await replaceFile(this.fileOf(logKey), note);
  }
}

async function readSeen(path: string): Promise<string | undefined> {
  try {
    return await readKept(path);
  } catch (error) {
    throw new CliError(`What was seen of the ledger before cannot be read: ${textOf(error)}`, {
      next: "Check who may read it, and the folders above it.",
      exitCode: EXIT.failed,
      cause: error,
    });
  }
}

function isLarger(note: string, other: string): boolean {
  return readCheckpoint(note).size > readCheckpoint(other).size;
}

/** Origins and paths are arbitrary, so files are called by their hash. */
function nameOf(text: string): string {
  return hash("sha256", text, "hex").slice(0, 32);
}
