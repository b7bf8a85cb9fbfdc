import { posix } from "node:path";
import type { Place } from "../../action.ts";
import type { FactsContext } from "../gather.ts";

/** Where people keep keys, below their homes. */
const KEY_FOLDERS = [".ssh", ".aws", ".gnupg", ".kube", ".config/gh", ".docker", ".azure"];
const KEY_FILES = [".netrc", ".npmrc", ".pypirc", ".git-credentials", ".pgpass", ".vault-token", ".env"];
/** More names than this in a folder are not looked at. */
const NAME_LIMIT = 256;
/** How many folders of the harness are looked into. */
const FOLDER_LIMIT = 16;

/** Knows guarded files again under other names that hard links give them. */
export class HardLinks {
  readonly #context: FactsContext;
  #guarded: Promise<ReadonlyMap<string, Place>> | undefined;

  constructor(context: FactsContext) {
    this.#context = context;
  }

  /** The place of the guarded file that a path is another name of; `undefined` when it is none. */
  async placeOf(path: string): Promise<Place | undefined> {
    const identity = await this.#identity(path);
    if (identity === undefined) return undefined;
    this.#guarded ??= this.#find();
    return (await this.#guarded).get(identity);
  }

  async #find(): Promise<ReadonlyMap<string, Place>> {
    const { home, harness } = this.#context;
    const found = new Map<string, Place>();
    const note = async (paths: readonly string[], place: Place): Promise<void> => {
      const identities = await Promise.all(paths.map((path) => this.#identity(path)));
      for (const identity of identities) if (identity !== undefined) found.set(identity, place);
    };
    await note(
      KEY_FILES.map((name) => posix.join(home, name)),
      "credentials",
    );
    for (const folder of KEY_FOLDERS) {
      await note((await this.#list(posix.join(home, folder))).files, "credentials");
    }
    const top = await this.#list(harness);
    await note(top.files, "harness");
    for (const folder of top.folders.slice(0, FOLDER_LIMIT))
      await note((await this.#list(folder)).files, "harness");
    return found;
  }

  async #list(folder: string) {
    const entries = (await this.#context.files.list(folder, NAME_LIMIT).catch(() => undefined)) ?? [];
    const [files, folders]: [string[], string[]] = [[], []];
    for (const { name, isFolder } of entries) (isFolder ? folders : files).push(posix.join(folder, name));
    return { files, folders };
  }

  #identity(path: string): Promise<string | undefined> {
    return this.#context.files.linkedIdentity(path).catch(() => undefined);
  }
}
