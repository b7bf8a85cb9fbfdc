import { randomUUID } from "node:crypto";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, ifExists, readJsonFile, replaceFile } from "@reins/kit";
import { z } from "zod";
import { FileFault } from "./file-fault.ts";
import { HeldFolder } from "./held-folder.ts";

const FOLDER = "replaced";

/** What was put aside to make room for another entry. */
const Aside = z.object({
  /** The folder in which an entry is replaced, by where it really lies. */
  folder: z.string(),
  /** The name of the entry. */
  name: z.string(),
  /** The name of the folder in it that holds the entry meanwhile. */
  aside: z.string(),
  /** The inode of what takes its place. */
  by: z.string(),
});
type Aside = z.infer<typeof Aside>;

/**
 * Replaces entries that the file system cannot replace at once, such as folders: what is there is put aside, and removed
 * when the other entry is in its place. Each replacement is on record in the home while it lasts, so that the next start
 * finishes what a crash has cut off, or takes it back.
 */
export class SetAside {
  readonly #folder: string;
  readonly #onError: (error: unknown) => void;

  constructor(home: string, onError: (error: unknown) => void) {
    this.#folder = join(home, FOLDER);
    this.#onError = onError;
  }

  /** Puts an entry into a folder in place of the one of a name, which stays what it was where that fails. */
  async replace(folder: HeldFolder, name: string, from: HeldFolder, entry: string): Promise<void> {
    const source = await from.look(entry);
    if (!source) throw new FileFault("not_found", `${join(from.path, entry)} is not there`);
    const { name: aside, folder: held } = await folder.createFolder();
    const record = join(this.#folder, `${randomUUID()}.json`);
    const noted: Aside = { folder: folder.path, name, aside, by: String(source.ino) };
    try {
      await replaceFile(record, JSON.stringify(noted));
      await held.place(folder, name, name, { replaces: true });
      await held.sync();
      await folder.place(from, entry, name, { replaces: false });
      await folder.sync();
    } catch (error) {
      await this.#takeBack(noted, folder, held);
      await rm(record, { force: true });
      throw error;
    } finally {
      await held.close();
    }
    await this.#discard(noted, folder, record);
  }

  /** Ends the replacements that an earlier run began: those that were done are finished, the others are taken back. */
  async recover(): Promise<void> {
    for (const file of (await ifExists(readdir(this.#folder))) ?? []) {
      const record = join(this.#folder, file);
      try {
        const noted = await readJsonFile(record, Aside);
        if (noted) await this.#settle(noted, record);
        else await rm(record, { force: true });
      } catch (error) {
        // The folder is gone, with all that was in it; anything else is tried again at the next start.
        if (errorCode(error) === "ENOENT") await rm(record, { force: true });
        else this.#onError(error);
      }
    }
  }

  async #settle(noted: Aside, record: string): Promise<void> {
    const folder = await HeldFolder.open(noted.folder);
    try {
      const held = await folder.folder([noted.aside]);
      try {
        const replaced = await folder.look(noted.name);
        const isDone = replaced !== undefined && String(replaced.ino) === noted.by;
        if (!isDone) await this.#takeBack(noted, folder, held);
      } finally {
        await held.close();
      }
      await this.#discard(noted, folder, record);
    } finally {
      await folder.close();
    }
  }

  /** Gives an entry its place again, if it was put aside. Throws where something else is there by now. */
  async #takeBack({ name, aside }: Aside, folder: HeldFolder, held: HeldFolder): Promise<void> {
    if (!(await held.look(name))) return folder.discard(aside);
    if (await folder.look(name))
      throw new FileFault(
        "conflict",
        `${join(folder.path, name)} was written meanwhile; what was there before is in ${held.path}`,
      );
    await folder.place(held, name, name, { replaces: false });
    await folder.sync();
    await folder.discard(aside);
  }

  /** Removes what was replaced. What cannot be removed is tried again at the next start. */
  async #discard({ aside }: Aside, folder: HeldFolder, record: string): Promise<void> {
    try {
      if (await folder.look(aside)) await folder.remove(aside, { recursive: true });
      await rm(record, { force: true });
    } catch (error) {
      this.#onError(error);
    }
  }
}
