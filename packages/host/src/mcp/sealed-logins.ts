import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { ifExists, replaceFile } from "@reins/kit";
import { type LoginStore, StoredLogin } from "@reins/mcp";
import { type Vault, VaultError } from "@reins/supervisor";

const FOLDER = "mcp-logins";

/** The logins to MCP servers, each a file of the home that its vault seals and this user alone can read. */
export class SealedLogins implements LoginStore {
  readonly #folder: string;
  readonly #vault: Pick<Vault, "seal" | "open" | "renew" | "formerKeys">;

  constructor(home: string, vault: Pick<Vault, "seal" | "open" | "renew" | "formerKeys">) {
    this.#folder = join(home, FOLDER);
    this.#vault = vault;
  }

  /** Undefined where there is none, and where it was sealed with a key that is gone: the login has to be repeated. */
  async read(url: string): Promise<StoredLogin | undefined> {
    const name = nameOf(url);
    const sealed = await ifExists(readFile(join(this.#folder, name), "utf8"));
    if (sealed === undefined) return undefined;
    try {
      return StoredLogin.parse(JSON.parse(this.#vault.open(placeOf(name), sealed)));
    } catch (error) {
      if (error instanceof VaultError) return undefined;
      throw error;
    }
  }

  async write(url: string, login: StoredLogin): Promise<void> {
    const name = nameOf(url);
    await replaceFile(join(this.#folder, name), this.#vault.seal(placeOf(name), JSON.stringify(login)));
  }

  /** Seals all of them with the newest key, so that the former ones can be forgotten. */
  async renew(): Promise<void> {
    if (this.#vault.formerKeys.length === 0) return;
    for (const name of (await ifExists(readdir(this.#folder))) ?? []) {
      const path = join(this.#folder, name);
      const sealed = this.#vault.renew(placeOf(name), await readFile(path, "utf8"));
      if (sealed !== undefined) await replaceFile(path, sealed);
    }
  }
}

function nameOf(url: string): string {
  return createHash("sha256").update(url).digest("hex");
}

function placeOf(name: string): string {
  return `${FOLDER}/${name}`;
}
