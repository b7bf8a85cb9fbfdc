import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { hasCode, ifExists, replaceFile } from "@reins/kit";
import { z } from "zod";
import { PROVIDERS, type Provider } from "./dialects.ts";

/** A key of a provider: one line of visible characters, as a header takes it. */
const ProviderKey = z.string().regex(/^[\x21-\x7e]{8,4096}$/);

const KeyFile = z.strictObject({
  keys: z.partialRecord(z.enum(PROVIDERS), z.strictObject({ key: ProviderKey, set: z.iso.datetime() })),
});
type KeyFile = z.infer<typeof KeyFile>;

/** The variables of the environment that hold a provider's key where none was set. */
const VARIABLES: Readonly<Record<Provider, readonly string[]>> = {
  anthropic: ["ANTHROPIC_API_KEY"],
  openai: ["OPENAI_API_KEY"],
  gemini: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
};

/** A key is none, or the file with the keys is damaged or can be read by others. Says nothing of any key. */
export class ProviderKeyError extends Error {
  override readonly name = "ProviderKeyError";
}

/** The keys of providers, in a file of the home that only its user can read. They are read anew for each call. */
export class ProviderKeys {
  readonly path: string;
  readonly #environment: Readonly<Record<string, string | undefined>>;

  constructor(home: string, environment: Readonly<Record<string, string | undefined>> = {}) {
    this.path = join(home, "keys", "providers.json");
    this.#environment = environment;
  }

  /** The key of a provider: the one that was set, or that of the environment. */
  async get(provider: Provider): Promise<string | undefined> {
    const { keys } = await this.#read();
    if (keys[provider]) return keys[provider].key;
    const names = VARIABLES[provider];
    return names.map((name) => this.#environment[name]?.trim()).find((key) => key);
  }

  /** Which providers have a key, and since when. Never the keys. */
  async list(): Promise<readonly { readonly provider: Provider; readonly set: string }[]> {
    const { keys } = await this.#read();
    return PROVIDERS.flatMap((provider) => {
      const held = keys[provider];
      return held ? [{ provider, set: held.set }] : [];
    });
  }

  /** The keys themselves, so that records can be kept free of them. */
  async secrets(): Promise<readonly string[]> {
    const { keys } = await this.#read();
    return Object.values(keys).map(({ key }) => key);
  }

  /** Keeps the key of a provider, in place of the one before. */
  async set(provider: Provider, key: string, now: Date): Promise<void> {
    if (!ProviderKey.safeParse(key).success)
      throw new ProviderKeyError("what was given is no key: one line of 8 to 4,096 visible characters");
    await this.#change((keys) => ({ ...keys, [provider]: { key, set: now.toISOString() } }));
  }

  /** Removes the key of a provider; returns whether there was one. */
  async remove(provider: Provider): Promise<boolean> {
    let had = false;
    await this.#change(({ [provider]: held, ...others }) => {
      had = held !== undefined;
      return others;
    });
    return had;
  }

  async #change(change: (keys: KeyFile["keys"]) => KeyFile["keys"]): Promise<void> {
    const keys = change((await this.#read()).keys);
    await replaceFile(this.path, `${JSON.stringify({ keys })}\n`);
  }

  async #read(): Promise<KeyFile> {
    const found = await ifExists(stat(this.path));
    if (!found) return { keys: {} };
    if (process.platform !== "win32" && (found.mode & 0o077) !== 0)
      throw new ProviderKeyError(`${this.path} can be read by others: chmod 600 it, and replace the keys`);
    try {
      return KeyFile.parse(JSON.parse(await readFile(this.path, "utf8")));
    } catch (error) {
      if (hasCode(error, "ENOENT")) return { keys: {} };
      throw new ProviderKeyError(`${this.path} is damaged: remove it, and set the keys again`);
    }
  }
}
